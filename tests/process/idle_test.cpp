// Processes that hold links and have nothing to say but their heartbeats.

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/net/endpoint.h"
#include "muster/net/testing/driver_suite.h"
#include "tests/process/child.h"

namespace muster::tests {
namespace {

using loop::Loop;
using loop::Turn;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Longer than a link lasts of which one end is silent.
constexpr seconds kInterval(4);

// Ready when its descriptor is: the parent has closed its end.
class Signal final : public loop::FdHandler {
 public:
  Signal(Loop& loop, int descriptor) : loop_(loop), descriptor_(descriptor) {
    const Turn turn(loop_);
    MUSTER_CHECK(loop.watch(descriptor, EPOLLIN | EPOLLET, *this), "it is a pipe");
  }
  ~Signal() {
    const Turn turn(loop_);
    loop_.unwatch(descriptor_);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void on_ready(std::uint32_t) override { has_come_ = true; }
  void wait() {
    loop_.wait_until([this] { return has_come_; });
  }

 private:
  Loop& loop_;
  int descriptor_;
  bool has_come_ = false;
};

class Quiet final : public net::LinkSink {
 public:
  std::unique_ptr<net::Link> link;
  bool is_up = false;

 private:
  void on_up(net::Link&) override { is_up = true; }
  void on_message(wire::Frame&, net::Lane, std::size_t) override {}
  void on_closed(Error) override { is_up = false; }
};

// An endpoint over two drivers, and its links.
class Party {
 public:
  explicit Party(Loop& loop) : loop_(loop) {
    const Turn turn(loop);
    shm_ = *drivers::make_shm_driver(loop);
    tcp_ = drivers::make_tcp_driver(loop);
    net::EndpointOptions options;
    options.token.assign(32, std::byte{7});
    options.drivers = {shm_.get(), tcp_.get()};
    endpoint_ = *net::Endpoint::make(loop, options);
  }
  ~Party() {
    const Turn turn(loop_);
    links_.clear();
    endpoint_.reset();
    tcp_.reset();
    shm_.reset();
  }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  // Its addresses, with a space between.
  std::string listen() {
    const Turn turn(loop_);
    const std::vector<net::Address> anywhere = {*net::Address::parse("shm://*"),
                                                *net::Address::parse("tcp://127.0.0.1:0")};
    const std::vector<net::Address> found =
        *endpoint_->listen(anywhere, [this](std::unique_ptr<net::Link> link) -> net::LinkSink& {
          links_.emplace_back().link = std::move(link);
          return links_.back();
        });
    return found[0].to_string() + " " + found[1].to_string();
  }

  void connect(const std::string& address) {
    const Turn turn(loop_);
    Quiet& quiet = links_.emplace_back();
    quiet.link = endpoint_->connect({*net::Address::parse(address)}, quiet);
  }

  // Under the baton.
  bool is_all_up() const {
    return std::ranges::all_of(links_, [](const Quiet& quiet) { return quiet.is_up; });
  }
  std::size_t link_count() const { return links_.size(); }

 private:
  Loop& loop_;
  std::unique_ptr<net::Driver> shm_;
  std::unique_ptr<net::Driver> tcp_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::list<Quiet> links_;
};

void write_line(int descriptor, std::string line) {
  line += '\n';
  const ssize_t written = write(descriptor, line.data(), line.size());
  MUSTER_CHECK(written == static_cast<ssize_t>(line.size()), "the pipe has room for a line");
}

// The words of one line.
std::vector<std::string> read_line(int descriptor) {
  std::string line;
  for (char byte = 0; read(descriptor, &byte, 1) == 1 && byte != '\n';) line += byte;
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// Arguments: descriptors to say its addresses and "ready" on; of which the end is
// the end of the measurement, and of all; whom to dial.
int idle(const std::vector<std::string>& arguments) {
  auto loop = *Loop::make();
  Signal measured(*loop, std::stoi(arguments[2]));
  Signal over(*loop, std::stoi(arguments[3]));
  const int ready = std::stoi(arguments[1]);
  Party party(*loop);
  write_line(std::stoi(arguments[0]), party.listen());
  for (std::size_t i = 4; i < arguments.size(); ++i) party.connect(arguments[i]);
  loop->wait_until([&] { return party.is_all_up(); });
  send_byte(ready);

  measured.wait();
  // Links that nobody kept alive would be lost by now.
  bool is_good = false;
  {
    const Turn turn(*loop);
    is_good = party.is_all_up() && party.link_count() >= 2;
  }
  if (is_good) send_byte(ready);
  over.wait();
  return is_good ? 0 : 1;
}
const RoleName kIdle("idle", idle);

TEST(Thrift, EightIdleProcessesWithHeartbeatsTogetherUseUnderOnePercentOfACore) {
  Pipe addresses;
  Pipe ready;
  Pipe measured;
  Pipe over;
  const std::vector descriptors{addresses.writer(), ready.writer(), measured.reader(),
                                over.reader()};
  std::vector<std::unique_ptr<Child>> children;
  std::vector<std::string> last;  // Where the one before listens.
  for (int i = 0; i < 8; ++i) {
    std::vector<std::string> arguments;
    for (const int descriptor : descriptors) arguments.push_back(std::to_string(descriptor));
    arguments.insert(arguments.end(), last.begin(), last.end());
    children.push_back(std::make_unique<Child>("idle", arguments, descriptors));
    last = read_line(addresses.reader());
    ASSERT_EQ(last.size(), 2u);
  }
  ASSERT_TRUE(await_bytes(ready.reader(), children.size()));
  let_pass(milliseconds(100));  // The keepers find out that they are not needed.
  const auto used = [&] {
    Duration sum{};
    for (const auto& child : children) sum += child->cpu_time();
    return sum;
  };

  const Duration before = used();
  let_pass(kInterval);
  const Duration spent = used() - before;

  RecordProperty("spent_us", static_cast<int>(spent / std::chrono::microseconds(1)));
  // With sanitizers every instruction costs twice; the bar is held by the release.
  EXPECT_LT(spent, Duration(kInterval) / (net::testing::kIsFast ? 100 : 40));
  measured.close_writer();
  EXPECT_TRUE(await_bytes(ready.reader(), children.size())) << "a link was lost";
  over.close_writer();
  for (const auto& child : children) EXPECT_EQ(child->join(), 0);
}

}  // namespace
}  // namespace muster::tests
