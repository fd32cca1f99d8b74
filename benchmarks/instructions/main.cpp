// bench_instructions CASE COUNT: sends and receives COUNT small messages, or tasks.
//
// Both ends live in one process on one loop without a keeper, so that the same
// work is done each time and callgrind's counts can be held against a ceiling.
// It counts inside `exchange` alone: how often the loop goes round until two ends
// have met is the system's affair. Time goes by message: by the machine's, some would
// follow each other so quickly that they are gathered.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "benchmarks/common/fail.h"
#include "benchmarks/instructions/task.h"
#include "muster/base/buffer_pool.h"
#include "muster/base/clock.h"
#include "muster/drivers/inproc/inproc.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/net/endpoint.h"
#include "muster/net/write_gate.h"

namespace muster::bench {
namespace {

struct End final : net::LinkSink {
  std::unique_ptr<net::Link> link;
  bool is_up = false;
  std::size_t received = 0;

  void on_up(net::Link&) override { is_up = true; }
  void on_message(wire::Frame& frame, net::Lane, std::size_t cost) override {
    received += frame.parts.size();
    link->done(cost);
  }
  void on_closed(Error) override {}
};

struct Case {
  const char* name;
  const char* address;
};
constexpr Case kCases[] = {{"inproc.message", "inproc://bench"},
                           {"shm.message", "shm://*"},
                           {"tcp.message", "tcp://127.0.0.1:0"},
                           {"ucx.message", "ucx://127.0.0.1:0"}};

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().describe());
  return *std::move(result);
}

std::unique_ptr<net::Driver> make_driver(loop::Loop& loop, const std::string& scheme) {
  if (scheme == "shm") return must(drivers::make_shm_driver(loop));
  if (scheme == "tcp") return drivers::make_tcp_driver(loop);
  if (scheme == "ucx") {
    auto control = drivers::make_tcp_driver(loop);
    return must(drivers::make_ucx_driver(loop, std::move(control),
                                         {.fabrics = "posix,cma", .control_options = "tls=off"}));
  }
  return drivers::make_inproc_driver(loop);
}

[[gnu::noinline]] void exchange(loop::Loop& loop, ManualClock& clock, End& near, const End& far,
                                std::size_t count) {
  BufferPool pool;
  for (std::size_t i = 0; i < count; ++i) {
    wire::Frame frame;
    frame.head.resize(net::kLinkHead);
    WritableBuffer body = pool.take(64);
    std::memset(body.data(), 7, body.size());
    frame.parts.push_back(std::move(body).freeze());
    must(near.link->send(frame));
    // The loop goes round as often as it takes; what that costs is part of it.
    while (far.received <= i) loop.run_ready();
    clock.advance(2 * net::WriteGate::kQuiet);
  }
}

void run(const Case& which, std::size_t count) {
  ManualClock clock;
  const auto loop = must(loop::Loop::make({.clock = &clock, .keeper = false}));
  const loop::Turn turn(*loop);
  const net::Address address = must(net::Address::parse(which.address));
  const auto driver = make_driver(*loop, address.scheme);
  net::EndpointOptions options;
  options.token.assign(32, std::byte{1});
  options.drivers = {driver.get()};
  const auto endpoint = must(net::Endpoint::make(*loop, options));
  End near;
  End far;
  const auto actual = must(endpoint->listen(std::span(&address, 1),
                                            [&](std::unique_ptr<net::Link> link) -> net::LinkSink& {
                                              far.link = std::move(link);
                                              return far;
                                            }));
  net::DialOptions dial;
  dial.named = {address.scheme};
  near.link = endpoint->connect({actual.front()}, near, dial);
  while (!near.is_up || !far.is_up) loop->run_ready();
  exchange(*loop, clock, near, far, count);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("use: bench_instructions CASE COUNT\n", stderr);
    return 2;
  }
  if (std::strcmp("proxy.task", argv[1]) == 0) {
    muster::bench::run_tasks(std::strtoull(argv[2], nullptr, 10));
    return 0;
  }
  for (const auto& which : muster::bench::kCases) {
    if (std::strcmp(which.name, argv[1]) != 0) continue;
    muster::bench::run(which, std::strtoull(argv[2], nullptr, 10));
    return 0;
  }
  return 3;
}
