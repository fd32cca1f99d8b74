// What links cost that nobody uses.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/muster/cases.h"
#include "muster/drivers/shm/shm.h"
#include "muster/net/endpoint.h"

namespace muster::bench::ours {
namespace {

constexpr std::size_t kLinks = 1000;

// KiB of this process's memory, by the names of /proc/self/status.
double memory_kib(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) fail_errno("read /proc/self/status");
  char line[256];
  double value = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name, std::strlen(name)) == 0) {
      value = std::stod(line + std::strlen(name) + 1);
    }
  }
  std::fclose(file);
  return value;
}

struct Idle final : net::LinkSink {
  std::unique_ptr<net::Link> link;
  std::size_t* up = nullptr;
  void on_up(net::Link&) override { ++*up; }
  void on_message(wire::Frame&, net::Lane, std::size_t) override {}
  void on_closed(Error) override {}
};

// A process with kLinks links, on either side.
class Side {
 public:
  Side() : loop_(*loop::Loop::make()) {
    const loop::Turn turn(*loop_);
    driver_ = *drivers::make_shm_driver(*loop_);
    net::EndpointOptions options;
    options.token.assign(32, std::byte{0x5A});
    options.drivers = {driver_.get()};
    options.max_strangers = 2 * kLinks;
    endpoint_ = *net::Endpoint::make(*loop_, options);
    sinks_.reserve(kLinks);
  }
  ~Side() {
    const loop::Turn turn(*loop_);
    sinks_.clear();
    endpoint_.reset();
    driver_.reset();
  }
  std::string listen() {
    const loop::Turn turn(*loop_);
    const net::Address address = *net::Address::parse("shm://*");
    const auto actual = endpoint_->listen(
        std::span(&address, 1), [this](std::unique_ptr<net::Link> link) -> net::LinkSink& {
          Idle& sink = add();
          sink.link = std::move(link);
          return sink;
        });
    if (!actual) fail(actual.error().describe());
    return actual->front().to_string();
  }
  void dial_all(const std::string& text) {
    const net::Address address = *net::Address::parse(text);
    net::DialOptions dial;
    dial.where.same_host = net::Known::yes;
    // A few at a time: the listener's backlog is short.
    for (std::size_t i = 1; i <= kLinks; ++i) {
      {
        const loop::Turn turn(*loop_);
        Idle& sink = add();
        sink.link = endpoint_->connect({address}, sink, dial);
      }
      if (i % 50 == 0) wait_for(i);
    }
  }
  void wait_for(std::size_t count) {
    const bool came =
        loop_->wait_until([&] { return up_ >= count; }, loop_->now() + std::chrono::seconds(30));
    if (!came) fail("only " + std::to_string(up_) + " links came up");
  }

 private:
  Idle& add() {
    sinks_.push_back(std::make_unique<Idle>());
    sinks_.back()->up = &up_;
    return *sinks_.back();
  }

  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::vector<std::unique_ptr<Idle>> sinks_;
  std::size_t up_ = 0;
};

struct Growth {
  double private_kib;
  double whole_kib;
};

Growth grow() {
  const Shared<Notice> bound;
  const Shared<Gate> done;
  Process other([&] {
    Side side;
    bound->post(side.listen());
    side.wait_for(kLinks);
    done->arrive_and_wait(2);
  });
  Growth growth{};
  {
    Side side;
    const std::string address = bound->wait();
    const double private_before = memory_kib("RssAnon");
    const double whole_before = memory_kib("VmRSS");
    side.dial_all(address);
    growth = {memory_kib("RssAnon") - private_before, memory_kib("VmRSS") - whole_before};
    done->arrive_and_wait(2);
  }
  other.join();
  return growth;
}

}  // namespace

Report memory_link(const Options&) {
  return {grow().private_kib / kLinks, "KiB", true, {{"links", kLinks}}};
}

Report memory_1000(const Options&) {
  const Growth growth = grow();
  return {growth.whole_kib / 1024, "MiB", true, {{"private_mib", growth.private_kib / 1024}}};
}

}  // namespace muster::bench::ours
