#include "muster/net/testing/sim_pipe.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "muster/net/testing/sim_driver.h"

namespace muster::net::testing::internal {
namespace {

using Kind = SimEvent::Kind;

}  // namespace

// What the receiver gets of a part: bytes of its own, where it wants them.
Buffer SimPipe::arrived(const Buffer& part, WritableBuffer placed) const {
  if (part.empty()) return {};
  if (passes(part)) return part;
  if (placed.size() != part.size()) placed = WritableBuffer::on_heap(part.size());
  std::memcpy(placed.data(), part.data(), part.size());
  return std::move(placed).freeze();
}

// Bytes that do not pass by reference.
std::uint64_t SimPipe::carried_by(const wire::Frame& frame) const {
  std::uint64_t bytes = frame.body_size();
  for (const Buffer& part : frame.parts) bytes -= passes(part) ? part.size() : 0;
  return bytes;
}

SimPipe::SimPipe(SimWorld& world, SimPlace dialer, std::string address)
    : world_(world), number_(++world.last_pipe), address_(std::move(address)) {
  sides_[0].place = dialer;
  sides_[1].place = {world.host_number(address_.substr(0, address_.find('/'))), -1};
}

void SimPipe::dial() {
  world_.note("dial", *this, 0);
  world_.events.plan(world_.now() + world_.delay(), Kind::knock, 0, shared_from_this());
  world_.events.plan(world_.now() + world_.options.dial_patience, Kind::give_up, 0,
                     shared_from_this());
}

void SimPipe::knock() {
  if (sides_[0].over || sides_[0].is_dead) return;
  const SimHost& host = world_.hosts[sides_[1].place.host];
  if (host.power == SimHost::Power::off) return;
  const auto found = world_.listeners.find(address_);
  if (found == world_.listeners.end()) return refuse("nobody listens there");
  world_.note("accept", *this, 1);
  found->second->let_in(shared_from_this());
}

void SimPipe::refuse(const std::string& why) {
  world_.note("refuse", *this, 1);
  end(0, Error(Code::unavailable, why).during("dial sim://" + address_),
      world_.now() + world_.delay());
}

void SimPipe::give_up() {
  if (is_open_ || sides_[0].over) return;
  world_.note("give up", *this, 0);
  end(0, Error(Code::unavailable, "no answer").during("dial sim://" + address_), world_.now());
}

std::unique_ptr<SimConnection> SimPipe::accept(SimPlace place) {
  sides_[1].place = place;
  is_open_ = true;
  return std::make_unique<SimConnection>(shared_from_this(), 1, nullptr);
}

void SimPipe::stand(Sink& sink) {
  if (sides_[1].end != nullptr) sides_[1].end->set_sink(sink);
  // What was queued meanwhile leaves only now.
  for (Item& item : sides_[0].sent) item.due += world_.options.min_delay;
  plan_arrival(0);
}

bool SimPipe::has_room(const Side& side, std::uint64_t size) const {
  const SimOptions& options = world_.options;
  return side.sent.empty() ||
         (side.sent.size() < options.max_frames && side.bytes + size <= options.max_bytes);
}

Status SimPipe::send(int from, wire::Frame& frame, bool lends) {
  world_.loop.check_held();
  Side& side = sides_[from];
  if (side.over) return *side.over;
  const std::uint64_t size = carried_by(frame);
  if (size > world_.options.max_body || frame.parts.size() > wire::kMaxParts) {
    return Error(Code::invalid, "a frame has at most " + std::to_string(world_.options.max_body) +
                                    " bytes in 1024 parts");
  }
  if (!has_room(side, size)) {
    side.wants_room = true;
    return Error(Code::overloaded, "the connection's queue is full");
  }
  Item item;
  item.due = next_due(side, size);
  item.frame = std::move(frame);
  frame = wire::Frame();
  item.is_lent = lends;
  // Whoever owns it hears at once that it has left, and nobody keeps it.
  if (lends) {
    for (Buffer& part : item.frame->parts) part = Buffer(part.bytes(), nullptr);
  }
  if (side.is_dead) return ok();  // Nobody is left to be told otherwise.
  side.bytes += size;
  push(from, std::move(item));
  if (is_open_ && world_.chance.happens(world_.options.loss)) {
    break_off("the network lost the connection");
  }
  return ok();
}

TimePoint SimPipe::next_due(Side& side, std::uint64_t size) {
  const Side& other = &side == &sides_[0] ? sides_[1] : sides_[0];
  const Duration transfer = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
      static_cast<double>(size) / static_cast<double>(world_.options.bytes_per_second)));
  const TimePoint due = world_.now() + world_.delay() + transfer;
  // Nothing overtakes within a connection.
  side.last_due = std::max(due, side.last_due + world_.hosts[other.place.host].pace);
  return side.last_due;
}

void SimPipe::push(int from, Item item) {
  sides_[from].sent.push_back(std::move(item));
  plan_arrival(from);
}

void SimPipe::plan_arrival(int from) {
  Side& side = sides_[from];
  if (!is_open_ || side.is_planned || side.sent.empty()) return;
  side.is_planned = true;
  world_.events.plan(std::max(side.sent.front().due, world_.now()), Kind::arrive, from,
                     shared_from_this());
}

void SimPipe::close(int from) {
  world_.loop.check_held();
  if (sides_[from].over || sides_[from].is_dead) return;
  world_.note("close", *this, from);
  finish_sending(from, "the other side closed the connection");
  stop_receiving(from);
  end(from, Error(Code::cancelled, "the connection was closed by this side"), world_.now());
}

void SimPipe::forget(int from) {
  world_.loop.check_held();
  Side& side = sides_[from];
  side.end = nullptr;
  if (side.over || side.is_dead) return;
  world_.note("drop", *this, from);
  finish_sending(from, "the other side closed the connection");
  stop_receiving(from);
  side.over = Error(Code::cancelled, "the connection was dropped");
}

void SimPipe::finish_sending(int from, const std::string& last_words) {
  Side& side = sides_[from];
  const std::size_t kept = is_open_ ? world_.chance.below(side.sent.size() + 1) : 0;
  side.sent.resize(kept);
  side.bytes = 0;
  for (Item& item : side.sent) {
    if (!item.frame) continue;
    side.bytes += carried_by(*item.frame);
    if (item.is_lent) continue;
    // The kernel's by now: whoever sent it has its memory back.
    for (Buffer& part : item.frame->parts) {
      if (!passes(part)) part = Buffer::copy_of(part.bytes());
    }
  }
  Item last;
  last.due = next_due(side, 0);
  last.last_words = last_words;
  push(from, std::move(last));
}

// Nobody writes any more where this side wanted its parts to lie.
void SimPipe::stop_receiving(int at) {
  for (Item& item : sides_[1 - at].sent) item.placed.clear();
}

void SimPipe::end(int side, Error why, TimePoint at) {
  if (sides_[side].over) return;
  sides_[side].over = std::move(why);
  world_.events.plan(at, Kind::end, side, shared_from_this());
}

void SimPipe::tell_end(int at) {
  Side& side = sides_[at];
  if (side.is_dead || side.end == nullptr) return;
  world_.note("end", *this, at);
  if (!is_open_) side.sent.clear();
  // A copy: the connection may be destroyed there, and this with it.
  side.end->sink().on_closed(Error(*side.over));
}

void SimPipe::break_off(const std::string& why) {
  if (!is_open_) return refuse(why);
  world_.note("break", *this, 0);
  for (const int side : {0, 1}) {
    if (!sides_[side].over && !sides_[side].is_dead) finish_sending(side, why);
  }
}

void SimPipe::kill(int at, bool is_told) {
  Side& side = sides_[at];
  side.is_dead = true;
  side.is_told = is_told;
  side.sent.clear();
  if (is_told) finish_sending(at, "the process at the other end has died");
}

void SimPipe::disown(int at) {
  Side& side = sides_[at];
  if (!side.is_dead || side.is_told) return;
  side.is_told = true;
  finish_sending(at, "the host at the other end was restarted");
}

bool SimPipe::is_held_up(int from) const {
  const SimHost& to = world_.hosts[sides_[1 - from].place.host];
  return !to.is_reading || world_.is_parted(sides_[0].place.host, sides_[1].place.host);
}

bool SimPipe::has_end_in(SimPlace place, int side) const {
  return sides_[side].place.host == place.host &&
         sides_[side].place.incarnation == place.incarnation;
}

bool SimPipe::is_between(int a, int b) const {
  return SimWorld::pair_of(sides_[0].place.host, sides_[1].place.host) == SimWorld::pair_of(a, b);
}

void SimPipe::arrive(int from) {
  Side& sender = sides_[from];
  const Side& receiver = sides_[1 - from];
  sender.is_planned = false;
  if (sender.sent.empty() || receiver.is_dead) return;
  Item& item = sender.sent.front();
  // It stands in the place of one that was dropped.
  if (item.due > world_.now()) return plan_arrival(from);
  if (receiver.over || receiver.end == nullptr) {
    sender.sent.clear();
    sender.bytes = 0;
    return;
  }
  if (item.frame) return begin_body(from, item) ? plan_arrival(from) : deliver(from);
  end_by_peer(1 - from, item.last_words);
}

void SimPipe::end_by_peer(int at, const std::string& last_words) {
  Side& side = sides_[at];
  side.over = Error(Code::unavailable, last_words);  // Before the words go with their item.
  sides_[1 - at].sent.clear();
  sides_[1 - at].bytes = 0;
  // Its own last words may be under way too, and must come to the other.
  std::erase_if(side.sent, [](const Item& item) { return item.frame.has_value(); });
  side.bytes = 0;
  tell_end(at);
}

// Has the receiver say where large parts shall lie. True if they take a while.
bool SimPipe::begin_body(int from, Item& item) {
  const wire::Frame& frame = *item.frame;
  const auto is_large = [this](const Buffer& part) {
    return part.size() >= kLargePart && !passes(part);
  };
  if (item.is_begun || std::none_of(frame.parts.begin(), frame.parts.end(), is_large)) {
    return false;
  }
  item.is_begun = true;
  item.placed.resize(frame.parts.size());
  for (std::size_t i = 0; i < frame.parts.size(); ++i) {
    if (!is_large(frame.parts[i])) continue;
    item.placed[i] = sides_[1 - from].end->sink().place(frame.head, i, frame.parts[i].size());
  }
  item.due = world_.now() + world_.delay() / 4;
  return true;
}

void SimPipe::deliver(int from) {
  Side& sender = sides_[from];
  wire::Frame frame;
  {
    sender.bytes -= carried_by(*sender.sent.front().frame);
    Item item = std::move(sender.sent.front());
    sender.sent.pop_front();
    item.placed.resize(item.frame->parts.size());
    frame.head = item.frame->head;
    for (std::size_t i = 0; i < item.placed.size(); ++i) {
      frame.parts.push_back(arrived(item.frame->parts[i], std::move(item.placed[i])));
    }
  }
  world_.note("frame", *this, from, frame.head.size() + frame.body_size());
  sides_[1 - from].end->sink().on_frame(frame);
  tell_room(sender);
  plan_arrival(from);
}

void SimPipe::tell_room(Side& side) {
  if (!side.wants_room || side.over || side.is_dead || side.end == nullptr) return;
  const SimOptions& options = world_.options;
  if (side.sent.size() > options.max_frames / 2 || side.bytes > options.max_bytes / 2) return;
  side.wants_room = false;
  side.end->sink().on_room();
}

std::string SimPipe::name(int from) const {
  return world_.hosts[sides_[from].place.host].name + ">" +
         world_.hosts[sides_[1 - from].place.host].name + "#" + std::to_string(number_);
}

SimConnection::SimConnection(std::shared_ptr<SimPipe> pipe, int side, Sink* sink)
    : pipe_(std::move(pipe)), side_(side), sink_(sink) {
  pipe_->sides_[side_].end = this;
  ++pipe_->world().open_ends;
}

SimConnection::~SimConnection() {
  --pipe_->world().open_ends;
  pipe_->forget(side_);
}

Result<WritableBuffer> SimConnection::allocate(std::size_t size) {
  SimMemory* const memory = pipe_->memory();
  if (memory == nullptr) return WritableBuffer::on_heap(size);
  return memory->allocate(pipe_->world().hosts[pipe_->place(side_).host].name, size);
}

Peer SimConnection::peer() const {
  const SimPlace there = pipe_->place(1 - side_);
  return {.address = "sim://" + pipe_->world().hosts[there.host].name,
          .is_same_host = there.host == pipe_->place(side_).host,
          .pid = 0};
}

}  // namespace muster::net::testing::internal
