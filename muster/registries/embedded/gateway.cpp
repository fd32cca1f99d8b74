// The gateway: a link on one side, the group's socket on the other, and the same
// messages on both.

#include <list>

#include "muster/registries/embedded/hosting.h"
#include "muster/registries/embedded/link_carrier.h"
#include "muster/registries/embedded/remote.h"

namespace muster::registries {
namespace {

using embedded::Carrier;
using embedded::CarrierSink;
using embedded::GroupHosts;
using embedded::Kind;
using embedded::Message;

// How much one may say before whoever serves is found.
constexpr std::size_t kMostWaiting = 8;
constexpr Duration kRetry = std::chrono::milliseconds(5);

// One member of another host.
class Relay final : public net::LinkSink, private CarrierSink {
 public:
  Relay(loop::Loop& loop, GroupHosts& hosts, std::unique_ptr<net::Link> link,
        std::function<void(Relay&)> on_over)
      : loop_(loop),
        hosts_(hosts),
        link_(std::move(link)),
        on_over_(std::move(on_over)),
        timer_([this] { reach(); }) {}
  ~Relay() {
    carrier_.reset();
    if (!group_.empty()) hosts_.release(group_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

 private:
  void on_up(net::Link&) override {}
  void on_message(wire::Frame& frame, net::Lane lane, std::size_t cost) override;
  void on_closed(Error) override { on_over_(*this); }
  void on_packet(std::span<const std::byte> bytes) override;
  void on_gone(const Error& why) override;
  bool take(Message message);
  void reach();

  loop::Loop& loop_;
  GroupHosts& hosts_;
  std::unique_ptr<net::Link> link_;
  std::function<void(Relay&)> on_over_;
  std::string group_;  // Known from the first message on.
  std::unique_ptr<Carrier> carrier_;
  std::vector<Message> waiting_;
  loop::Timer timer_;
};

void Relay::on_message(wire::Frame& frame, net::Lane, std::size_t cost) {
  Result<Message> message = embedded::decode(embedded::packet_in(frame));
  if (!message || !take(*std::move(message))) return link_->close();
  link_->done(cost);
}

// False for what is not to be said, or not now.
bool Relay::take(Message message) {
  // Whatever it says of itself: the end of our socket is not its death.
  message.is_remote = true;
  if (carrier_) return carrier_->send(message);
  if (group_.empty()) {
    if (message.kind != Kind::announce && message.kind != Kind::ask) return false;
    group_ = message.group;
    hosts_.retain(group_);
    waiting_.push_back(std::move(message));
    reach();
    return true;
  }
  if (waiting_.size() == kMostWaiting) return false;
  waiting_.push_back(std::move(message));
  return true;
}

void Relay::reach() {
  CarrierSink& sink = *this;
  auto carrier = hosts_.reach(group_, sink);
  if (!carrier) return loop_.start(timer_, loop_.now() + kRetry);
  carrier_ = *std::move(carrier);
  for (const Message& message : std::exchange(waiting_, {})) carrier_->send(message);
}

void Relay::on_packet(std::span<const std::byte> bytes) {
  if (!embedded::send_packet(*link_, bytes)) link_->close();
}

// The member comes again, and finds who serves then.
void Relay::on_gone(const Error&) {
  carrier_.reset();
  waiting_.clear();
  link_->close();
}

class Gateway final : public RegistryGateway {
 public:
  Gateway(loop::Loop& loop, EmbeddedOptions options, std::unique_ptr<net::Endpoint> endpoint)
      : loop_(loop), hosts_(loop, std::move(options)), endpoint_(std::move(endpoint)) {}

  Status listen(const std::vector<net::Address>& addresses) {
    MUSTER_TRY(addresses_, endpoint_->listen(addresses, [this](auto link) -> net::LinkSink& {
      return relays_.emplace_back(loop_, hosts_, std::move(link), [this](Relay& over) {
        relays_.remove_if([&](const Relay& relay) { return &relay == &over; });
      });
    }));
    return ok();
  }
  const std::vector<net::Address>& addresses() const override { return addresses_; }

 private:
  loop::Loop& loop_;
  GroupHosts hosts_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::vector<net::Address> addresses_;
  std::list<Relay> relays_;
};

}  // namespace

Result<std::unique_ptr<RegistryGateway>> make_registry_gateway(loop::Loop& loop,
                                                               GatewayOptions options) {
  MUSTER_TRY(auto endpoint, net::Endpoint::make(loop, std::move(options.links)));
  auto gateway = std::make_unique<Gateway>(loop, std::move(options.embedded), std::move(endpoint));
  MUSTER_TRY_OK(gateway->listen(options.addresses));
  return std::unique_ptr<RegistryGateway>(std::move(gateway));
}

}  // namespace muster::registries
