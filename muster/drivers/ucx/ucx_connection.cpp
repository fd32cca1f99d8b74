#include "muster/drivers/ucx/ucx_connection.h"

#include <utility>

namespace muster::drivers::ucx {

UcxConnection::UcxConnection(UcxHub& hub)
    : hub_(hub),
      key_(hub.enrol(*this)),
      account_(std::make_shared<Account>(Account{this, 0})),
      turn_(*this, &UcxConnection::end_turn),
      room_(*this, &UcxConnection::tell_room),
      ending_(*this, &UcxConnection::tell_end) {}

UcxConnection::~UcxConnection() {
  account_->connection = nullptr;
  if (pair_ != nullptr) pair_->forget(*this);
  if (state_ != State::ended) hub_.dismiss(key_);
  hub_.loop().forget(turn_);
  hub_.loop().forget(room_);
  hub_.loop().forget(ending_);
}

Status UcxConnection::dial(const net::Address& address, net::Sink& sink) {
  dialed_ = address.to_string();
  net::Address control = address;
  control.scheme = hub_.control().scheme();
  control.options = hub_.options().control_options;
  line_ = std::make_unique<Line>(static_cast<Line::Owner&>(*this));
  MUSTER_TRY(auto connection, hub_.control().dial(control, line_->sink()));
  line_->set_connection(std::move(connection));
  sink_ = &sink;
  line_->say({.kind = Greeting::Kind::hello, .hub = hub_.id(), .key = key_, .worker = {}});
  deadline_ = std::make_unique<loop::Timer>([this] {
    end(Error(Code::unavailable, "the peer took too long to meet").during("dial " + dialed_));
  });
  hub_.loop().start(*deadline_, hub_.loop().now() + hub_.options().meeting_timeout);
  return ok();
}

void UcxConnection::take_up(std::unique_ptr<Line> line, std::shared_ptr<UcxPair> pair,
                            std::uint64_t peer_key) {
  line_ = std::move(line);
  line_->set_owner(*this);
  pair_ = std::move(pair);
  peer_key_ = peer_key;
  state_ = State::open;
}

void UcxConnection::on_greeting(const Greeting& greeting) {
  if (state_ == State::ended) return;
  const bool is_due = state_ == State::meeting;
  if (is_due && greeting.kind == Greeting::Kind::pair) {
    if (Status met = meet(greeting); !met) end(std::move(met).error().during("dial " + dialed_));
  } else if (is_due && greeting.kind == Greeting::Kind::go && pair_ != nullptr) {
    pair_->call_when_settled(*this);
  } else {
    end(Error(Code::invalid, "the peer says what is not due"));
  }
}

// Of the pairs with this peer, one is current; it leads to the peer's current
// one, or to none yet, or to one that is gone.
Status UcxConnection::meet(const Greeting& greeting) {
  const PairKey with{greeting.hub, greeting.hub == hub_.id()};
  if (pair_ != nullptr) pair_->forget(*this);
  MUSTER_TRY(pair_, hub_.pair_with(with));
  if (pair_->is_connected() && pair_->remote() != greeting.pair) {
    MUSTER_TRY(pair_, hub_.new_pair_with(with));
  }
  if (!pair_->is_connected()) MUSTER_TRY_OK(pair_->connect(greeting.pair, greeting.worker));
  peer_key_ = greeting.key;
  line_->say({.kind = Greeting::Kind::ready,
              .hub = hub_.id(),
              .key = key_,
              .pair = pair_->id(),
              .worker = pair_->address()});
  return ok();
}

void UcxConnection::start() {
  if (state_ != State::meeting) return;
  state_ = State::open;
  if (deadline_) hub_.loop().stop(*deadline_);
  hub_.make_hot(*pair_);
  while (!waiting_.empty() && state_ == State::open) {
    wire::Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    account_->bytes -= record_size(frame) + frame.body_size();
    transmit(frame);
  }
  on_sent();
}

// What the peer had sent before it went is still ours.
void UcxConnection::on_line_end(Error why) {
  if (state_ == State::open && pair_ != nullptr) hub_.drain(*pair_);
  if (state_ == State::meeting) why = std::move(why).during("dial " + dialed_);
  end(std::move(why));
}

// Until both have met, the listener may offer another one.
void UcxConnection::look_at_pair() {
  if (state_ == State::open && pair_->failure()) end(*pair_->failure());
}

void UcxConnection::on_settled() {
  if (pair_->failure()) return end(Error(*pair_->failure()).during("dial " + dialed_));
  start();
}

void UcxConnection::fail(Error why) {
  hub_.warn("connection refused after bad bytes",
            "peer " + peer().address + "  why " + why.message());
  end(std::move(why));
}

void UcxConnection::close() {
  hub_.loop().check_held();
  end(Error(Code::cancelled, "closed by this side"));
}

// Pair and line are let go later: this may be called from inside either.
void UcxConnection::end(Error why) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  hub_.dismiss(key_);
  why_ = std::move(why);
  if (deadline_) hub_.loop().stop(*deadline_);
  waiting_.clear();
  incoming_.clear();
  hub_.loop().forget(turn_);
  hub_.loop().forget(room_);
  if (line_) line_->close();
  hub_.loop().flush_later(ending_);
}

void UcxConnection::tell_end() {
  line_.reset();
  if (pair_ != nullptr) pair_->forget(*this);
  pair_.reset();
  if (sink_ != nullptr) sink_->on_closed(*why_);  // May destroy this.
}

net::Peer UcxConnection::peer() const {
  net::Peer peer;
  if (line_) peer = line_->peer();
  const std::size_t colon = peer.address.find("://");
  peer.address = colon == std::string::npos ? dialed_ : "ucx" + peer.address.substr(colon);
  return peer;
}

}  // namespace muster::drivers::ucx
