// Tasks between two proxies: a request and its completion.
#include <cstring>

#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/folder.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/msg/proxy.h"
#include "muster/registries/embedded/embedded.h"

namespace muster::bench::ours {
namespace {

using namespace std::chrono_literals;

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().describe());
  return *std::move(result);
}

// One component with all that it needs. What fails ends the program.
class Member {
 public:
  Member(bool over_shm, const std::string& folder, const char* name, const char* other)
      : loop_(must(loop::Loop::make())) {
    {
      const loop::Turn turn(*loop_);
      if (over_shm) {
        driver_ = must(drivers::make_shm_driver(*loop_));
      } else {
        driver_ = drivers::make_tcp_driver(*loop_);
      }
      registry_ = registries::make_embedded_registry(*loop_, {.folder = folder});
    }
    msg::ProxyOptions options;
    options.group = "bench";
    options.type = options.name = name;
    options.registry = registry_.get();
    options.drivers = {driver_.get()};
    options.token.assign(32, std::byte{0x5A});
    options.expected = {{.name = other}};
    proxy_ = must(msg::Proxy::join(*loop_, std::move(options), 10s));
  }
  ~Member() {
    proxy_.reset();
    const loop::Turn turn(*loop_);
    registry_.reset();
    driver_.reset();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  msg::Proxy& proxy() { return *proxy_; }

 private:
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<msg::Registry> registry_;
  std::unique_ptr<msg::Proxy> proxy_;
};

void serve(bool over_shm, const std::string& folder) {
  Member member(over_shm, folder, "server", "client");
  for (const msg::Message& message : member.proxy().receive()) {
    if (message.is("stop")) break;
    must(member.proxy().reply(message, message.body()));
  }
}

void exchange(msg::Proxy& proxy, msg::PeerId server, Message& message) {
  const msg::Message reply = must(
      proxy.send({.tag = "echo",
                  .destination = server,
                  .body = Buffer::copy_of(std::as_bytes(std::span(&message, std::size_t{1})))}));
  const Buffer* const body = reply.body().as_bytes();
  if (body == nullptr || body->size() != sizeof message) fail("a reply of the wrong size");
  std::memcpy(&message, body->data(), sizeof message);
}

Report tasks(const Options& options, bool over_shm) {
  const Folder folder;
  Process other([&] { serve(over_shm, folder.path()); });
  Report report;
  {
    Member member(over_shm, folder.path(), "client", "server");
    msg::Proxy& proxy = member.proxy();
    const msg::PeerId server = must(proxy.find("server"));
    report = time_awake(options, [&](Message& message) { exchange(proxy, server, message); });
    must(proxy.isend(
        {.tag = "stop", .destination = server, .session_type = msg::SessionType::notification}));
    must(proxy.leave(5s));
  }
  other.join();
  return report;
}

}  // namespace

Report task_shm(const Options& options) { return tasks(options, true); }
Report task_tcp(const Options& options) { return tasks(options, false); }

}  // namespace muster::bench::ours
