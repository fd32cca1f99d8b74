// Tasks between two proxies: a request and its completion.
#include <cstring>

#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/group.h"

namespace muster::bench::ours {
namespace {

using namespace std::chrono_literals;

void serve(Over over, const std::string& folder) {
  Member member(over, folder, "server", "server", {{.name = "client"}});
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

Report tasks(const Options& options, Over over) {
  const Folder folder;
  Process other([&] { serve(over, folder.path()); });
  Report report;
  {
    Member member(over, folder.path(), "client", "client", {{.name = "server"}});
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

Report task_shm(const Options& options) { return tasks(options, Over::shm); }
Report task_tcp(const Options& options) { return tasks(options, Over::tcp); }

}  // namespace muster::bench::ours
