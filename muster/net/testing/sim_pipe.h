// One connection of a SimNet: what is under way in it, and its two ends.

#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/net/testing/sim_world.h"

namespace muster::net::testing::internal {

class SimConnection;

// Kept by its ends and by the events that are planned for it.
class SimPipe final : public std::enable_shared_from_this<SimPipe> {
 public:
  // `address` is the HOST/NAME that is dialed.
  SimPipe(SimWorld& world, SimPlace dialer, std::string address);
  // Has it knock at that host, after a while.
  void dial();

  // What the ends do.
  Status send(int side, wire::Frame& frame, bool lends = false);
  void close(int side);
  void forget(int side);  // The end is being destroyed.

  // What the network does.
  void knock();
  void refuse(const std::string& why);
  void give_up();
  void arrive(int from);
  void tell_end(int side);
  // Both ends hear that the connection is gone, each in its time.
  void break_off(const std::string& why);
  // This side's process is no more. The other hears of it, if there is a kernel to say so.
  void kill(int side, bool is_told);

  // The host that was silent is up again, and does not know this connection.
  void disown(int side);

  // True if nothing can go from one end to the other just now.
  bool is_held_up(int from) const;
  bool has_end_in(SimPlace place, int side) const;
  bool is_between(int a, int b) const;
  // Memory that both ends can read. Null: there is none.
  SimMemory* memory() const {
    return world_.memory_between(sides_[0].place.host, sides_[1].place.host);
  }
  bool passes(const Buffer& part) const { return memory() != nullptr && memory()->holds(part); }
  // The second end, for whoever listens; then who hears from it.
  std::unique_ptr<SimConnection> accept(SimPlace place);
  void stand(Sink& sink);
  SimPlace place(int side) const { return sides_[side].place; }
  const std::string& address() const { return address_; }
  std::string name(int from) const;
  int number() const { return number_; }
  SimWorld& world() const { return world_; }

 private:
  friend class SimConnection;

  // What travels: a frame, or the news that there will be no more.
  struct Item {
    TimePoint due;
    std::optional<wire::Frame> frame;
    std::string last_words;
    bool is_begun = false;
    bool is_lent = false;
    std::vector<WritableBuffer> placed;  // One per part; empty for those that are not placed.
  };
  struct Side {
    SimPlace place;
    SimConnection* end = nullptr;
    bool is_dead = false;       // Its process is no more,
    bool is_told = false;       // and the other was told so.
    std::optional<Error> over;  // It was told of its end, or will be.
    // What this side has sent.
    std::deque<Item> sent;
    std::uint64_t bytes = 0;
    TimePoint last_due{};
    bool is_planned = false;  // An event stands for the oldest.
    bool wants_room = false;
  };

  TimePoint next_due(Side& side, std::uint64_t size);
  void plan_arrival(int from);
  void push(int from, Item item);
  // Lets some of what `from` has sent still arrive, and says that nothing follows.
  void finish_sending(int from, const std::string& last_words);
  void stop_receiving(int at);
  void end(int side, Error why, TimePoint at);
  void end_by_peer(int at, const std::string& last_words);
  bool begin_body(int from, Item& item);
  Buffer arrived(const Buffer& part, WritableBuffer placed) const;
  std::uint64_t carried_by(const wire::Frame& frame) const;
  void deliver(int from);
  bool has_room(const Side& side, std::uint64_t size) const;
  void tell_room(Side& side);

  SimWorld& world_;
  const int number_;
  const std::string address_;
  bool is_open_ = false;
  std::array<Side, 2> sides_;
};

class SimConnection final : public Connection {
 public:
  SimConnection(std::shared_ptr<SimPipe> pipe, int side, Sink* sink);
  ~SimConnection() override;
  SimConnection(const SimConnection&) = delete;
  SimConnection& operator=(const SimConnection&) = delete;

  Status send(wire::Frame& frame) override { return pipe_->send(side_, frame); }
  Result<WritableBuffer> allocate(std::size_t size) override;
  bool passes(const Buffer& part) const override { return pipe_->passes(part); }
  bool lends() const override { return pipe_->world().options.lends; }
  Status lend(wire::Frame& frame) override { return pipe_->send(side_, frame, lends()); }
  std::size_t max_body() const override { return pipe_->world().options.max_body; }
  void close() override { pipe_->close(side_); }
  Peer peer() const override;

  void set_sink(Sink& sink) { sink_ = &sink; }
  Sink& sink() const { return *sink_; }

 private:
  std::shared_ptr<SimPipe> pipe_;
  const int side_;
  Sink* sink_;
};

}  // namespace muster::net::testing::internal
