// One connection: its line, its pair, the frames between.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "muster/drivers/ucx/in_flight.h"
#include "muster/drivers/ucx/line.h"
#include "muster/drivers/ucx/ucx_hub.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/flush_call.h"

namespace muster::drivers::ucx {

class UcxConnection final : public net::Connection, private Line::Owner, private UcxPair::Waiter {
 public:
  explicit UcxConnection(UcxHub& hub);
  ~UcxConnection() override;
  UcxConnection(const UcxConnection&) = delete;
  UcxConnection& operator=(const UcxConnection&) = delete;

  std::uint64_t key() const { return key_; }

  // The side that dials.
  Status dial(const net::Address& address, net::Sink& sink);
  // The side that listens, once both have met. The sink follows by set_sink().
  void take_up(std::unique_ptr<Line> line, std::shared_ptr<UcxPair> pair, std::uint64_t peer_key);
  void set_sink(net::Sink& sink) { sink_ = &sink; }

  Status send(wire::Frame& frame) override;
  Result<WritableBuffer> allocate(std::size_t size) override;
  bool passes(const Buffer&) const override { return false; }
  std::size_t max_body() const override { return kMostBody; }
  void close() override;
  net::Peer peer() const override;

  // For hub and pair.
  bool takes_from(const UcxPair& pair) const { return pair_.get() == &pair && sink_ != nullptr; }
  void look_at_pair();
  void on_record(std::span<const std::byte> bytes);
  // A large part: what UCX has of it, or the bytes themselves.
  bool on_part(const MessageHeader& header, void* descriptor, std::size_t size);
  void on_part(const MessageHeader& header, std::span<const std::byte> bytes);
  void on_fetched(const MessageHeader& header, WritableBuffer target);
  void on_sent();
  void fail(Error why);

 private:
  enum class State : std::uint8_t { meeting, open, ended };

  // A frame of which parts are still to come.
  struct Incoming {
    wire::Frame frame;
    std::vector<WritableBuffer> targets;  // By part; empty but for those to come.
    std::size_t missing = 0;
    std::size_t charge = 0;  // For the frame itself, of what is awaited.
  };
  using Call = net::FlushCall<UcxConnection>;

  void on_greeting(const Greeting& greeting) override;
  void on_line_end(Error why) override;
  void on_settled() override;
  Status meet(const Greeting& greeting);
  void start();

  void transmit(wire::Frame& frame);
  bool transmit_at_once(wire::Frame& frame);
  void tell_room();
  void count_turn(std::size_t bytes);
  void end_turn();
  // Apart, so that not every frame that leaves tells of room for one more.
  bool is_full() const { return most_waiting() > hub_.options().queue_limit; }
  bool has_room() const { return most_waiting() <= hub_.options().queue_limit / 2; }
  std::size_t most_waiting() const { return std::max(account_->bytes, turn_bytes_); }

  bool is_next(std::uint32_t sequence);
  void take_short_record(const ReadShortRecord& record);
  Status take_record(const ReadRecord& record);
  Status take_small_parts(const ReadRecord& record, wire::Frame& frame);
  Status find_places(const ReadRecord& record, Incoming& incoming);
  WritableBuffer* target_of(const MessageHeader& header, std::size_t size);
  void deliver();

  void end(Error why);
  void tell_end();

  UcxHub& hub_;
  std::uint64_t key_;
  std::uint64_t peer_key_ = 0;
  net::Sink* sink_ = nullptr;
  std::unique_ptr<Line> line_;
  std::shared_ptr<UcxPair> pair_;
  std::shared_ptr<Account> account_;
  std::string dialed_;  // For people.
  std::unique_ptr<loop::Timer> deadline_;
  State state_ = State::meeting;
  bool wants_room_ = false;
  // Handed to UCX since the end of a turn was last awaited: a sender that UCX is
  // faster than must let the loop have its turn all the same.
  std::size_t turn_bytes_ = 0;

  std::deque<wire::Frame> waiting_;  // Until both have met.
  std::uint32_t next_out_ = 0;
  std::uint32_t next_in_ = 0;
  std::deque<Incoming> incoming_;  // The oldest is number first_in_.
  std::uint32_t first_in_ = 0;
  std::uint64_t awaited_ = 0;  // Bytes that these take, and that they still lack.

  Call turn_;
  Call room_;
  Call ending_;
  std::optional<Error> why_;
};

}  // namespace muster::drivers::ucx
