#include "muster/drivers/ucx/ucx_listener.h"

#include <string>
#include <utility>

#include "muster/drivers/ucx/line.h"
#include "muster/drivers/ucx/ucx_connection.h"

namespace muster::drivers::ucx {
namespace {

// Who wait to be welcome, each with a TLS session of some 50 KiB: as many as may well
// come at once when a large group starts.
constexpr std::size_t kMostGuests = 1024;
// A dialer whose pairs keep dying under its hands.
constexpr int kMostPairs = 4;

}  // namespace

class UcxListener::Guest final : private Line::Owner, private UcxPair::Waiter {
 public:
  Guest(UcxListener& listener, std::unique_ptr<net::Connection> connection)
      : listener_(listener),
        line_(std::make_unique<Line>(static_cast<Line::Owner&>(*this))),
        timer_([this] { refuse(Error(Code::timeout, "it took too long to meet")); }) {
    line_->set_connection(std::move(connection));
    loop::Loop& loop = listener.hub_.loop();
    loop.start(timer_, loop.now() + listener.hub_.options().meeting_timeout);
  }
  ~Guest() {
    if (pair_ != nullptr) pair_->forget(*this);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  net::Sink& sink() { return line_->sink(); }

  // Too many have come after it.
  void turn_away() const { warn(Error(Code::overloaded, "too many others wait")); }

 private:
  void on_greeting(const Greeting& greeting) override {
    Status done = ok();
    if (greeting.kind == Greeting::Kind::hello && pair_ == nullptr) {
      done = answer(greeting);
    } else if (greeting.kind == Greeting::Kind::ready && pair_ != nullptr) {
      done = settle(greeting);
    } else {
      done = Error(Code::invalid, "it says what is not due");
    }
    if (!done) refuse(done.error());
  }

  void on_line_end(Error why) override {
    // A member that has said hello may go; who has not was none.
    if (why.code() == Code::invalid || pair_ == nullptr) warn(why);
    listener_.dismiss(*this);
  }

  Status answer(const Greeting& greeting) {
    with_ = {greeting.hub, false};
    peer_key_ = greeting.key;
    connection_ = std::make_unique<UcxConnection>(listener_.hub_);
    MUSTER_TRY(pair_, listener_.hub_.pair_with(with_));
    offer_pair();
    return ok();
  }

  void offer_pair() {
    line_->say({.kind = Greeting::Kind::pair,
                .hub = listener_.hub_.id(),
                .key = connection_->key(),
                .pair = pair_->id(),
                .worker = pair_->address()});
  }

  Status settle(const Greeting& greeting) {
    if (greeting.hub != with_.peer) return Error(Code::invalid, "it has become another");
    const bool is_stale = pair_->is_connected() && pair_->remote() != greeting.pair;
    pair_->forget(*this);
    if (is_stale || pair_->failure()) return offer_another();
    if (!pair_->is_connected()) MUSTER_TRY_OK(pair_->connect(greeting.pair, greeting.worker));
    pair_->call_when_settled(*this);
    return ok();
  }

  void on_settled() override {
    if (!pair_->failure()) return welcome();
    if (const Status offered = offer_another(); !offered) refuse(offered.error());
  }

  Status offer_another() {
    if (++pairs_ == kMostPairs) return Error(Code::overloaded, "its pairs do not last");
    MUSTER_TRY(pair_, listener_.hub_.new_pair_with(with_));
    offer_pair();
    return ok();
  }

  // The end of this guest.
  void welcome() {
    UcxListener& listener = listener_;
    UcxConnection& made = *connection_;
    Line& line = *line_;
    made.take_up(std::move(line_), std::move(pair_), peer_key_);
    std::unique_ptr<net::Connection> connection = std::move(connection_);
    listener.dismiss(*this);
    line.say({.kind = Greeting::Kind::go, .worker = {}});
    made.set_sink(listener.accept_(std::move(connection)));
  }

  void refuse(const Error& why) {
    warn(why);
    line_->close(Error(Code::cancelled, "refused"));
  }

  void warn(const Error& why) const {
    listener_.hub_.warn("stranger refused",
                        "at " + listener_.address().to_string() + "  why " + why.message());
  }

  UcxListener& listener_;
  std::unique_ptr<Line> line_;
  PairKey with_;
  std::uint64_t peer_key_ = 0;
  std::shared_ptr<UcxPair> pair_;
  std::unique_ptr<UcxConnection> connection_;
  int pairs_ = 0;
  loop::Timer timer_;
};

Result<std::unique_ptr<UcxListener>> UcxListener::open(UcxHub& hub, const net::Address& address,
                                                       net::Driver::Accept accept) {
  net::Address control = address;
  control.scheme = hub.control().scheme();
  control.options = hub.options().control_options;
  std::unique_ptr<UcxListener> made(new UcxListener(hub, std::move(accept)));
  auto listener = hub.control().listen(
      control, [listener = made.get()](std::unique_ptr<net::Connection> connection) -> net::Sink& {
        return listener->receive(std::move(connection));
      });
  if (!listener) {
    return std::move(listener).error().during("listen on " + address.to_string());
  }
  made->control_ = *std::move(listener);
  return made;
}

UcxListener::UcxListener(UcxHub& hub, net::Driver::Accept accept)
    : hub_(hub), accept_(std::move(accept)) {}

UcxListener::~UcxListener() = default;

net::Address UcxListener::address() const {
  net::Address address = control_->address();
  address.scheme = "ucx";
  address.options.clear();
  return address;
}

net::Sink& UcxListener::receive(std::unique_ptr<net::Connection> connection) {
  if (guests_.size() == kMostGuests) {
    guests_.front()->turn_away();
    guests_.pop_front();
  }
  return guests_.emplace_back(std::make_unique<Guest>(*this, std::move(connection)))->sink();
}

void UcxListener::dismiss(Guest& guest) {
  std::erase_if(guests_, [&](const auto& other) { return other.get() == &guest; });
}

}  // namespace muster::drivers::ucx
