#include "muster/net/testing/flaky_net.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "muster/net/testing/pattern.h"

namespace muster::net::testing {

// One end; the other is its peer while both live.
class FlakyConnection final : public Connection {
 public:
  FlakyConnection(FlakyNet& net, FlakyDriver& driver, std::string address);
  ~FlakyConnection() override;
  FlakyConnection(const FlakyConnection&) = delete;
  FlakyConnection& operator=(const FlakyConnection&) = delete;

  Status send(wire::Frame& frame) override;
  Result<WritableBuffer> allocate(std::size_t size) override {
    return WritableBuffer::on_heap(size);
  }
  bool passes(const Buffer& /*part*/) const override { return false; }
  std::size_t max_body() const override { return net_.max_body; }
  void close() override { end(Error(Code::cancelled, "closed on this side")); }
  Peer peer() const override { return {.address = address_, .is_same_host = true, .pid = 0}; }

  void set_sink(Sink& sink) { sink_ = &sink; }
  void meet(FlakyConnection& other);
  void end(Error why);
  void mend();

 private:
  struct Underway {
    TimePoint due;
    wire::Frame frame;
  };

  void arrive();
  void receive(const wire::Frame& frame);
  void leave_other();
  void schedule();

  FlakyNet& net_;
  FlakyDriver& driver_;
  std::string address_;
  Sink* sink_ = nullptr;
  FlakyConnection* other_ = nullptr;
  bool has_met_ = false;
  std::deque<Underway> underway_;  // To the other end.
  std::optional<Error> why_;
  bool wants_room_ = false;
  loop::Timer arrival_;
  loop::Timer ending_;
};

class FlakyDriver final : public Driver {
 public:
  explicit FlakyDriver(FlakyNet& net) : net_(net) {}

  std::string_view scheme() const override { return "flaky"; }
  Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) override;
  Result<std::unique_ptr<Connection>> dial(const Address& address, Sink& sink) override;

  FlakyNet& net() { return net_; }
  std::vector<FlakyConnection*>& connections() { return connections_; }
  // The one that dialled has come through. False if nobody listens.
  bool let_in(const std::string& name, FlakyConnection& dialer);

 private:
  class Door;
  FlakyNet& net_;
  std::map<std::string, Accept> doors_;
  std::vector<FlakyConnection*> connections_;
};

class FlakyDriver::Door final : public Listener {
 public:
  Door(FlakyDriver& driver, Address address) : driver_(driver), address_(std::move(address)) {}
  ~Door() override { driver_.doors_.erase(address_.host); }
  Address address() const override { return address_; }

 private:
  FlakyDriver& driver_;
  Address address_;
};

FlakyConnection::FlakyConnection(FlakyNet& net, FlakyDriver& driver, std::string address)
    : net_(net),
      driver_(driver),
      address_(std::move(address)),
      arrival_([this] { arrive(); }),
      ending_([this] { sink_->on_closed(*std::exchange(why_, std::nullopt)); }) {
  driver_.connections().push_back(this);
  ++net_.open_connections;
}

FlakyConnection::~FlakyConnection() {
  std::erase(driver_.connections(), this);
  --net_.open_connections;
  leave_other();
}

void FlakyConnection::leave_other() {
  FlakyConnection* const other = std::exchange(other_, nullptr);
  if (other == nullptr) return;
  other->other_ = nullptr;
  if (net_.is_cut_) return;
  other->end(Error(Code::unavailable, "the other side closed the connection"));
}

Status FlakyConnection::send(wire::Frame& frame) {
  if (why_) return Error(Code::unavailable, "the connection has ended");
  if (underway_.size() >= net_.queue_limit) {
    wants_room_ = true;
    return Error(Code::overloaded, "the connection's queue is full");
  }
  const auto delay = Duration(net_.chance() % (net_.longest_delay.count() + 1));
  TimePoint due = net_.loop_->now() + delay;
  if (!underway_.empty()) due = std::max(due, underway_.back().due);
  underway_.push_back({due, std::move(frame)});
  schedule();
  return ok();
}

void FlakyConnection::schedule() {
  if (!underway_.empty() && !net_.is_cut_) net_.loop_->start(arrival_, underway_.front().due);
}

void FlakyConnection::mend() {
  // The other end has gone meanwhile, which could not be told.
  if (has_met_ && other_ == nullptr) {
    return end(Error(Code::unavailable, "the other side closed the connection"));
  }
  if (!arrival_.is_armed()) schedule();
}

void FlakyConnection::meet(FlakyConnection& other) {
  other_ = &other;
  other.other_ = this;
  has_met_ = other.has_met_ = true;
}

void FlakyConnection::arrive() {
  if (net_.is_cut_ || why_) return;
  if (other_ == nullptr && !driver_.let_in(address_, *this)) {
    return end(Error(Code::unavailable, "nobody listens"));
  }
  while (!underway_.empty() && underway_.front().due <= net_.loop_->now()) {
    const wire::Frame frame = std::move(underway_.front().frame);
    underway_.pop_front();
    other_->receive(frame);
    if (other_ == nullptr || why_) return;
  }
  schedule();
  if (!wants_room_ || underway_.size() > net_.queue_limit / 2) return;
  wants_room_ = false;
  sink_->on_room();
}

void FlakyConnection::receive(const wire::Frame& frame) {
  if (why_) return;
  wire::Frame copy;
  copy.head = frame.head;
  for (std::size_t i = 0; i < frame.parts.size(); ++i) {
    const Buffer& part = frame.parts[i];
    WritableBuffer memory;
    if (part.size() >= kLargePart) memory = sink_->place(frame.head, i, part.size());
    if (why_) return;
    if (memory.size() != part.size()) memory = WritableBuffer::on_heap(part.size());
    if (!part.empty()) std::memcpy(memory.data(), part.data(), part.size());
    copy.parts.push_back(std::move(memory).freeze());
  }
  sink_->on_frame(copy);
}

void FlakyConnection::end(Error why) {
  if (why_ || sink_ == nullptr) return;
  why_ = std::move(why);
  underway_.clear();
  net_.loop_->stop(arrival_);
  net_.loop_->start(ending_, net_.loop_->now());
  leave_other();
}

Result<std::unique_ptr<Listener>> FlakyDriver::listen(const Address& address, Accept accept) {
  if (!doors_.emplace(address.host, std::move(accept)).second) {
    return Error(Code::invalid, "somebody listens there already");
  }
  return std::unique_ptr<Listener>(std::make_unique<Door>(*this, address));
}

Result<std::unique_ptr<Connection>> FlakyDriver::dial(const Address& address, Sink& sink) {
  auto dialed = std::make_unique<FlakyConnection>(net_, *this, address.host);
  dialed->set_sink(sink);
  return std::unique_ptr<Connection>(std::move(dialed));
}

bool FlakyDriver::let_in(const std::string& name, FlakyConnection& dialer) {
  const auto door = doors_.find(name);
  if (door == doors_.end()) return false;
  auto accepted = std::make_unique<FlakyConnection>(net_, *this, name);
  FlakyConnection& there = *accepted;
  dialer.meet(there);
  there.set_sink(door->second(std::move(accepted)));
  return true;
}

FlakyNet::FlakyNet(std::uint64_t seed)
    : state_(seed),
      loop_(*loop::Loop::make({.clock = &clock_, .keeper = false})),
      driver_(std::make_unique<FlakyDriver>(*this)) {}

FlakyNet::~FlakyNet() = default;

Rig::Side FlakyNet::side() { return {*loop_, *driver_}; }

std::uint64_t FlakyNet::chance() { return scramble(++state_); }

void FlakyNet::advance(Duration duration) {
  const TimePoint end = clock_.now() + duration;
  for (;;) {
    while (loop_->run_ready()) continue;
    const TimePoint next = loop_->next_timer();
    if (next > end) break;
    clock_.set(std::max(next, clock_.now()));
  }
  clock_.set(end);
  while (loop_->run_ready()) continue;
}

void FlakyNet::stall(Duration duration) {
  clock_.advance(duration);
  while (loop_->run_ready()) continue;
}

void FlakyNet::set_cut(bool is_cut) {
  const loop::Turn turn(*loop_);
  is_cut_ = is_cut;
  if (is_cut) return;
  for (FlakyConnection* connection : driver_->connections()) connection->mend();
}

void FlakyNet::break_all() {
  const loop::Turn turn(*loop_);
  const std::vector<FlakyConnection*> all = driver_->connections();
  for (FlakyConnection* connection : all) {
    connection->end(Error(Code::unavailable, "the network broke"));
  }
}

}  // namespace muster::net::testing
