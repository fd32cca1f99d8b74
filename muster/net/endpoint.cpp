#include "muster/net/endpoint.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/net/link_shared.h"

namespace muster::net {

// Who comes in, until it has proved itself.
class Endpoint::Door final : internal::Doorkeeper {
 public:
  Door(loop::Loop& loop, EndpointOptions options) : shared_(loop, std::move(options), *this) {}

  Result<std::unique_ptr<Listener>> open(const Address& address, std::shared_ptr<OnLink> on_link);
  void stop();

  std::vector<std::unique_ptr<Listener>>& listeners() { return listeners_; }
  internal::LinkShared& shared() { return shared_; }
  std::size_t strangers() const { return strangers_.size(); }

 private:
  struct Stranger {
    std::unique_ptr<Link> link;
    std::shared_ptr<OnLink> on_link;
    std::string address;
  };

  Sink& accept(std::unique_ptr<Connection> connection, const std::shared_ptr<OnLink>& on_link);
  LinkSink& admit(Link& link) override;
  void turn_away(Link& link, const Error& why) override;
  Stranger remove(const Link& link);
  void complain(const std::string& address, std::string_view why);

  internal::LinkShared shared_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<Stranger> strangers_;  // The oldest first.
  log::RateLimit complaints_;
};

Result<std::unique_ptr<Listener>> Endpoint::Door::open(const Address& address,
                                                       std::shared_ptr<OnLink> on_link) {
  Driver* const driver = shared_.driver(address.scheme);
  if (driver == nullptr) {
    return Error(Code::unsupported, "this process has no such driver")
        .during("listen on " + address.to_string());
  }
  return driver->listen(
      address,
      [this, on_link = std::move(on_link)](std::unique_ptr<Connection> connection) -> Sink& {
        return accept(std::move(connection), on_link);
      });
}

Sink& Endpoint::Door::accept(std::unique_ptr<Connection> connection,
                             const std::shared_ptr<OnLink>& on_link) {
  if (strangers_.size() >= std::max<std::size_t>(shared_.options.max_strangers, 1)) {
    const Stranger oldest = std::move(strangers_.front());
    strangers_.erase(strangers_.begin());
    complain(oldest.address, "too many come at once, and this one was the slowest");
  }
  std::string address = connection->peer().address;
  Link& link = *strangers_
                    .emplace_back(Stranger{std::unique_ptr<Link>(new Link(shared_)), on_link,
                                           std::move(address)})
                    .link;
  link.start_accepted(std::move(connection));
  return link;
}

Endpoint::Door::Stranger Endpoint::Door::remove(const Link& link) {
  const auto found =
      std::ranges::find(strangers_, &link, [](const Stranger& one) { return one.link.get(); });
  Stranger removed = std::move(*found);
  strangers_.erase(found);
  return removed;
}

LinkSink& Endpoint::Door::admit(Link& link) {
  Stranger stranger = remove(link);
  return (*stranger.on_link)(std::move(stranger.link));
}

void Endpoint::Door::turn_away(Link& link, const Error& why) {
  const Stranger stranger = remove(link);
  complain(stranger.address, why.message());
}

void Endpoint::Door::complain(const std::string& address, std::string_view why) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(shared_.loop.now().time_since_epoch());
  const int held_back = complaints_.admit(now.count());
  if (held_back < 0) return;
  log::warning(
      fmt::format("stranger turned away  peer {}  why {}  others {}", address, why, held_back));
}

void Endpoint::Door::stop() {
  listeners_.clear();
  strangers_.clear();
}

Result<std::unique_ptr<Endpoint>> Endpoint::make(loop::Loop& loop, EndpointOptions options) {
  const loop::Turn turn(loop);
  auto door = std::make_unique<Door>(loop, std::move(options));
  const internal::LinkShared& shared = door->shared();
  // A handshake that cannot be begun would only be noticed at the first link.
  const auto trial = shared.handshake(Handshake::Role::server);
  if (!trial) return trial.error().during("make an endpoint");
  if (shared.options.beat <= Duration::zero() || shared.options.silence <= shared.options.beat) {
    return Error(Code::invalid, "the silence that means loss must be longer than a beat")
        .during("make an endpoint");
  }
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(door)));
}

Endpoint::Endpoint(std::unique_ptr<Door> door) : door_(std::move(door)) {}

Endpoint::~Endpoint() {
  const loop::Turn turn(door_->shared().loop);
  door_.reset();
}

Result<std::vector<Address>> Endpoint::listen(std::span<const Address> addresses, OnLink on_link) {
  const auto shared_on_link = std::make_shared<OnLink>(std::move(on_link));
  std::vector<std::unique_ptr<Listener>> opened;
  std::vector<Address> actual;
  for (const Address& address : addresses) {
    MUSTER_TRY(std::unique_ptr<Listener> listener, door_->open(address, shared_on_link));
    actual.push_back(listener->address());
    opened.push_back(std::move(listener));
  }
  std::ranges::move(opened, std::back_inserter(door_->listeners()));
  return actual;
}

void Endpoint::stop_listening() { door_->stop(); }

std::unique_ptr<Link> Endpoint::connect(const std::vector<Address>& addresses, LinkSink& sink,
                                        DialOptions options) {
  std::unique_ptr<Link> link(new Link(door_->shared()));
  link->start_dialing(addresses, sink, std::move(options));
  return link;
}

std::size_t Endpoint::strangers() const { return door_->strangers(); }

}  // namespace muster::net
