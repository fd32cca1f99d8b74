// One body to many processes of this host, by Proxy::broadcast().
#include "benchmarks/common/broadcast.h"

#include <list>

#include "benchmarks/common/body.h"
#include "benchmarks/common/process.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/group.h"

namespace muster::bench::ours {
namespace {

using namespace std::chrono_literals;

void read_bodies(const std::string& folder, std::size_t index) {
  Member member(Over::shm, folder, "reader", "reader_" + std::to_string(index),
                {{.name = "sender"}});
  std::uint64_t number = 0;
  for (const msg::Message& message : member.proxy().receive()) {
    if (message.is("stop")) break;
    const Buffer* const body = message.body().as_bytes();
    if (body == nullptr || body->size() != kLargeBody) fail("a body of the wrong size");
    read_body(body->bytes(), number++);
    must(member.proxy().reply(message));
  }
}

}  // namespace

Report broadcast_large(const Options& options) {
  const Folder folder;
  std::list<Process> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] { read_bodies(folder.path(), i); });
  }
  Report report;
  {
    Member member(Over::shm, folder.path(), "sender", "sender",
                  {{.type = "reader", .count = kReaders}});
    msg::Proxy& proxy = member.proxy();
    std::vector<std::byte> body(kLargeBody);
    const msg::Audience readers_all = msg::Audience::type("reader");
    report = time_broadcasts(options, body, [&](std::uint64_t) {
      const msg::Replies replies =
          must(proxy.broadcast(readers_all, {.tag = "body", .body = Buffer(body, nullptr)}, 30s));
      if (!replies.is_complete() || replies.messages.size() != kReaders)
        fail("a reader is missing");
    });
    must(proxy.ibroadcast(readers_all,
                          {.tag = "stop", .session_type = msg::SessionType::notification}));
    must(proxy.leave(5s));
  }
  for (Process& reader : readers) reader.join();
  return report;
}

}  // namespace muster::bench::ours
