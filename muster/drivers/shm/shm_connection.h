// One link between two processes: a ring each way, and a socket that tells the end.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "muster/arena/holdings.h"
#include "muster/arena/remote_block.h"
#include "muster/arena/segment_table.h"
#include "muster/drivers/shm/batch.h"
#include "muster/drivers/shm/direct.h"
#include "muster/drivers/shm/record.h"
#include "muster/drivers/shm/ring.h"
#include "muster/drivers/shm/shm_hub.h"
#include "muster/net/gathering.h"

namespace muster::drivers::shm {

class ShmConnection final : public net::Connection, private loop::FdHandler, private loop::Flusher {
 public:
  // The side that dialled: says its part at once, and may send at once.
  static Result<std::unique_ptr<ShmConnection>> start(ShmHub& hub, Descriptor socket,
                                                      const Credentials& peer, net::Sink& sink);
  // The side that listens: `hello` is what the other said first. The sink
  // follows by set_sink().
  static Result<std::unique_ptr<ShmConnection>> answer(ShmHub& hub, Descriptor socket,
                                                       const Credentials& peer,
                                                       ReceivedMessage hello);
  ~ShmConnection() override;

  void set_sink(net::Sink& sink);

  Status send(wire::Frame& frame) override;
  Status send_copy(std::span<const std::byte, wire::kUsualHead> head,
                   std::span<const std::byte> part) override;
  Result<WritableBuffer> allocate(std::size_t size) override;
  bool passes(const Buffer& part) const override;
  std::size_t max_body() const override;
  void close() override;
  net::Peer peer() const override;

  // For the hub.
  bool may_have_work() {
    if (has_ended_) return false;
    if (!offers_.empty() || !incoming_.empty() || wanted_room_ != 0) return true;
    return reader_ && (reader_->has_more() || reader_->is_behind_when_dry());
  }
  bool poll();
  void listen_by_polling();
  // True if there is something already.
  bool listen_by_bell();
  // Listens by the bell as well. True if there is something that nobody will ring for.
  bool has_left_over();
  void publish_progress();
  std::uint32_t peer_processor() const;
  std::uint32_t slot() const { return slot_; }

 private:
  // A frame of which some parts are still being copied.
  struct Incoming {
    wire::Frame frame;
    struct Fetch {
      std::size_t part;
      WritableBuffer target;
      DirectFetch copy;
    };
    std::vector<Fetch> fetches;
    // Parts that come in a bundle, and their sizes.
    std::vector<std::pair<std::size_t, std::uint64_t>> bundled;
  };
  struct Offer {
    std::uint32_t cell;
    DirectOffer copy;
  };

  ShmConnection(ShmHub& hub, Descriptor socket, const Credentials& peer);
  Status open_own_ring();
  Status say_hello(std::uint32_t abilities);
  Status take_hello(ReceivedMessage hello);
  void tell_abilities();

  // Sending (shm_send.cpp).
  Status send_whole(wire::Frame& frame);
  bool send_small(wire::Frame& frame, std::size_t size);
  std::byte* begin_record(std::uint16_t kind, std::uint16_t note, std::size_t size);
  std::byte* claim(std::uint16_t kind, std::uint16_t note, std::size_t size);
  bool write_batch();
  void write_gathered();
  Status plan(const wire::Frame& frame);
  Result<PartPlan> plan_reference(const Buffer& part);
  PartPlan plan_direct(const Buffer& part);
  Status bundle(const wire::Frame& frame);
  void undo_plans();
  void tell_of_gone_segments();
  void write(wire::Frame& frame, std::byte* record);
  void ring_peer();
  void send_releases();
  bool help_with_offers();
  void tell_of_room();

  // Receiving (shm_receive.cpp).
  bool drain();
  Status take_record(const RingReader::Record& record, wire::Frame& small);
  bool read_small_frame(std::span<const std::byte> body, wire::Frame& frame);
  void deliver(wire::Frame& frame);
  Status take_batch(std::span<const std::byte> body, wire::Frame& frame);
  Status take_frame(std::span<const std::byte> body);
  WritableBuffer memory_for(const wire::Head& head, std::size_t part, std::uint64_t size);
  Status copy_inside(std::span<const std::byte> inside, wire::Frame& frame);
  Result<WritableBuffer> find_target(const PartPlan& plan, std::size_t part,
                                     const wire::Frame& frame);
  Status finish(Incoming incoming);
  bool next_is_direct();
  Result<Buffer> take_reference(const PartPlan& plan);
  Status take_releases(std::span<const std::byte> body);
  Status read_notices();
  Result<bool> advance_incoming();

  void on_ready(std::uint32_t events) override;
  void flush() override;
  void fail(Error why);
  void let_go();
  void part_from_peer(std::vector<WritableBuffer> endangered);
  void follow_peer();

  DirectCell& own_cell(std::uint32_t index) const;
  DirectCell& peer_cell(std::uint32_t index) const;

  ShmHub& hub_;
  net::Sink* sink_ = nullptr;
  Descriptor socket_;
  Credentials credentials_;
  std::uint32_t slot_ = 0;
  bool is_enrolled_ = false;
  bool is_introduced_ = false;
  bool is_watched_ = false;

  std::pair<Memory, Descriptor> own_;  // Our ring; the descriptor until it was handed on.
  Memory theirs_;
  std::optional<RingWriter> writer_;
  std::optional<RingReader> reader_;
  std::optional<PeerDoor> door_;
  Batch batch_;
  net::Gathering<ShmConnection> gathering_;

  std::vector<PartPlan> plans_;  // Of the frame at hand, going out.
  std::vector<PartPlan> read_plans_;
  Buffer bundle_;
  arena::Holdings holdings_;
  arena::SentSegments sent_;
  arena::ReceivedSegments received_;
  std::shared_ptr<arena::ReleaseQueue> releases_;               // Until the end.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // For what was posted.
  std::vector<std::uint64_t> release_batch_;

  std::uint32_t abilities_ = 0;       // What we may do to the peer's memory.
  std::uint32_t peer_abilities_ = 0;  // What the peer may do to ours.
  std::deque<Offer> offers_;
  std::vector<std::uint32_t> free_cells_;
  std::deque<Incoming> incoming_;

  std::size_t wanted_room_ = 0;     // A send() was refused for want of so much.
  std::optional<Error> peers_end_;  // How the peer did, until we have read what it left us.
  std::optional<Error> end_;        // How it ended, until the sink has heard.
  bool has_ended_ = false;
};

}  // namespace muster::drivers::shm
