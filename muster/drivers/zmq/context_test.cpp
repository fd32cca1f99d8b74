#include "muster/drivers/zmq/context.h"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.h>

#include "muster/base/log.h"

namespace muster::drivers::zmq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The lines that are logged while it lives.
class Lines {
 public:
  Lines() {
    log::to(log::Level::warning, [this](log::Level, std::string_view line) {
      const std::scoped_lock lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~Lines() { log::to(log::Level::off, nullptr); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::vector<std::string> all() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(Context, EndsAtOnceWhenItsSocketsAreClosed) {
  Lines lines;
  const auto begin = steady_clock::now();
  {
    const Context context(seconds(60));
    zmq_close(zmq_socket(context.get(), ZMQ_DEALER));
  }
  EXPECT_LT(steady_clock::now() - begin, seconds(30));
  EXPECT_TRUE(lines.all().empty());
}

TEST(Context, DoesNotWaitForEverForASocketThatDoesNotEnd) {
  Lines lines;
  const auto begin = steady_clock::now();
  void* socket = nullptr;
  {
    const Context context(milliseconds(50));
    socket = zmq_socket(context.get(), ZMQ_DEALER);
  }
  EXPECT_GE(steady_clock::now() - begin, milliseconds(50));
  EXPECT_EQ(lines.all().size(), 1U);
  zmq_close(socket);  // Lets the rest of it end.
}

}  // namespace
}  // namespace muster::drivers::zmq
