#include "muster/net/resolver.h"

#include <netdb.h>

namespace muster::net {
namespace {

constexpr std::size_t kMostQueries = 32;

}  // namespace

Addresses look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    return Error(Code::unavailable, gai_strerror(error)).during("look up the host " + host);
  }
  std::vector<SocketAddress> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (const auto address = SocketAddress::from(entry->ai_addr)) found.push_back(*address);
  }
  freeaddrinfo(list);
  return found;
}

Resolver::~Resolver() {
  {
    // First, so that nothing that is posted from here on finds anybody; nor is it looked at now.
    const loop::Turn turn(loop_);
    self_.reset();
  }
  queries_.clear();
}

Result<std::uint64_t> Resolver::resolve(const std::string& host, std::uint16_t port, Done done) {
  join_finished();
  if (queries_.size() >= kMostQueries) {
    return Error(Code::overloaded, "too many host names are being looked up");
  }
  const std::uint64_t ticket = next_++;
  const std::weak_ptr<Resolver*> self = self_;
  Query& query = queries_[ticket];
  query.done = std::move(done);
  query.thread = std::jthread([&loop = loop_, look_up = look_up_, self, ticket, host, port] {
    Addresses addresses = look_up(host, port);
    loop.post([self, ticket, addresses = std::move(addresses)] {
      if (const auto alive = self.lock()) (*alive)->finish(ticket, addresses);
    });
  });
  return ticket;
}

void Resolver::cancel(std::uint64_t ticket) {
  if (const auto found = queries_.find(ticket); found != queries_.end()) {
    found->second.done = nullptr;
  }
}

void Resolver::finish(std::uint64_t ticket, Addresses addresses) {
  Query& query = queries_.at(ticket);
  // Not joined here: this may be the very thread.
  query.is_over = true;
  if (const Done done = std::exchange(query.done, nullptr)) done(std::move(addresses));
}

void Resolver::join_finished() {
  // What follows from a look-up may run on its own thread, and start another.
  const auto me = std::this_thread::get_id();
  std::erase_if(queries_, [me](const auto& entry) {
    return entry.second.is_over && entry.second.thread.get_id() != me;
  });
}

}  // namespace muster::net
