// Link: messages between two processes that have proved themselves to each
// other, over any driver.
//
// A link keeps order per lane, bounds what waits on either side, notices when
// the peer is gone, and can come back by itself. All of it happens under the
// loop's baton.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/net/credit.h"
#include "muster/net/driver.h"
#include "muster/net/driver_limits.h"
#include "muster/net/handshake.h"
#include "muster/net/keep_alive.h"
#include "muster/net/lanes.h"
#include "muster/net/link_head.h"
#include "muster/net/link_options.h"

namespace muster::net {

class Link;

// Who hears from a link. Outlives it. Must not destroy the link, but for in
// on_closed().
class LinkSink {
 public:
  // Both ends have proved themselves. Again after each reconnect.
  virtual void on_up(Link& link) = 0;

  // A message. The user's part of its head starts at byte kLinkHead; it may be
  // moved from. `cost` is to be given to Link::done() once it no longer waits.
  virtual void on_message(wire::Frame& frame, Lane lane, std::size_t cost) = 0;

  // False: nobody is ready yet for a large message with this head. It is asked for
  // again by Link::resume(), and comes without by the next tick of the beats.
  virtual bool is_ready_for(const wire::Head& head);

  // Memory of at least `size` bytes for a large part of a message whose head
  // is `head`. Empty: the link finds some.
  virtual WritableBuffer place_body(const wire::Head& head, std::size_t part, std::uint64_t size);

  // There is room again after a send() that said overloaded.
  virtual void on_room() {}

  // A message that was queued cannot be delivered to this peer: it is above
  // the peer's limit, which was not known yet, or the peer has no memory.
  virtual void on_refused(wire::Frame& frame, Lane lane, const Error& why);

  // The link is down, or could not be made. What was handed to the connection
  // may be lost, as `why` says; what still waits is kept if `will_retry`.
  // Without, on_closed() follows.
  virtual void on_down(const Error& why, bool will_retry);

  // The last call, exactly once, never from inside send() or close(). The link
  // may be destroyed here.
  virtual void on_closed(Error why) = 0;

 protected:
  ~LinkSink() = default;
};

enum class LinkState : std::uint8_t {
  connecting,  // Not both ends have proved themselves.
  waiting,     // For the next try.
  up,
  closing,
  closed,
};

// The other end, as it has proved to be.
struct LinkPeer {
  Id id;
  std::string name;
  std::string address;  // For people.
  std::string scheme;   // Of the driver, where it is known.
  bool is_same_host = false;
  int pid = 0;  // From the kernel, else 0.
  std::uint8_t version = 0;
  std::uint64_t features = 0;  // That both have.
  std::uint64_t max_body = 0;
  std::uint32_t window = 0;
};

struct LinkCounters {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;  // Of bodies, as are all bytes here.
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
  std::size_t messages_queued = 0;
  std::size_t bytes_queued = 0;
  std::uint32_t cost_unconfirmed = 0;  // Sent, and not known to be taken.
};

namespace internal {
struct LinkShared;
struct Dialing;
struct Receiving;
struct ChunkGate;
}  // namespace internal

class Link final : private Sink, private loop::Flusher {
 public:
  // Its sink hears nothing more.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Sends, or queues until it can be sent. The user fills frame.head from byte
  // kLinkHead on. On an error the frame is untouched, but for those bytes:
  // Code::overloaded, the queue is full, and on_room() follows; invalid, above
  // what the peer takes; unavailable, the link is down for good.
  Status send(wire::Frame& frame, Lane lane = {});
  // The same for a head of kLinkHead bytes and one part, which is copied: where it can
  // leave at once, straight to where it leaves from.
  Status send_copy(std::span<const std::byte> part, Lane lane = {});

  // A message, or several, that cost so much no longer wait at the user's.
  void done(std::size_t cost);

  // The sink may be ready by now for what it was not.
  void resume();

  // Memory for a body that the peer can read where it lies, if the driver has
  // such; else any memory.
  Result<WritableBuffer> allocate(std::size_t size);

  // Sends what is queued, says goodbye and ends, with a deadline. A link that
  // waits for its next try ends soon, and what is queued is dropped.
  void close();

  LinkState state() const;
  bool is_up() const { return state_ == State::up; }
  // Of use while the link is up, or was.
  const LinkPeer& peer() const { return peer_; }
  // Messages that wait here, large ones under way among them.
  std::size_t queued() const { return lanes_.count(); }
  LinkCounters counters() const;
  // How long the link stands, and how long nothing has come by it, to a tenth of
  // a beat; zero while it is not up.
  Duration age() const;
  Duration silence() const;

 private:
  friend class Endpoint;
  friend struct internal::LinkShared;
  friend struct internal::ChunkGate;

  enum class State : std::uint8_t {
    idle,        // Not begun.
    connecting,  // Handshake.
    refusing,    // We have said no; the other end shall hang up.
    waiting,     // Between two tries.
    up,
    leaving,  // close() was called: what is queued leaves, then a bye.
    left,     // The peer has said goodbye and shall hang up.
    ending,   // The connection was closed by us.
    closed,
  };
  struct Passage {
    std::uint64_t total = 0;
    std::uint64_t counted = 0;  // Of parts that do not pass by reference.
  };
  struct Control {
    LinkHead head;
    wire::Frame frame;
  };

  explicit Link(internal::LinkShared& shared);

  // Beginning and end (link.cpp).
  void start_accepted(std::unique_ptr<Connection> connection);
  void start_dialing(const std::vector<Address>& addresses, LinkSink& sink, DialOptions options);
  void dial_next();
  Status begin_handshake(Handshake::Role role);
  void say(Handshake::Message message);
  void shake_hands(wire::Frame& frame);
  void refuse(Error why);
  void become_up();
  void on_timer();
  void wait_for(Duration duration, State state);
  void on_closed(Error why) override;
  void clear_connection();
  void attempt_failed(Error why);
  void lost(Error why);
  void retry_later(const Error& why);
  void finish(Error why);
  // Ends the connection, the second because of `why`.
  void hang_up();
  void fail(Error why);
  void protocol_error(const Error& why);
  bool is_established() const {
    return state_ == State::up || state_ == State::leaving || state_ == State::left;
  }
  bool will_retry() const;
  void tick(TimePoint now);

  // What a frame costs, the same for who sends it and who receives it: what has come by
  // reference passes on by reference.
  bool is_passed(const Buffer& part) const {
    // Drivers copy what is small, wherever it lies.
    return part.size() >= kReferenceFrom && connection_->passes(part);
  }
  Passage look_at(const wire::Frame& frame) const;
  bool is_cost_of(const wire::Frame& frame, std::uint64_t size, std::uint32_t cost) const;

  // Sending (link_send.cpp).
  static bool is_large(const Passage& passage) { return passage.counted > kLargePart; }
  LinkHead head_for(Kind kind, Lane lane = {}) const {
    return {.version = version_, .kind = kind, .priority = lane.priority, .channel = lane.channel};
  }
  Status transmit(const LinkHead& head, wire::Frame& frame, bool lends = false);
  Status transmit_inline(LinkHead head, wire::Frame& frame, bool lends);
  bool may_send_at_once() const { return state_ == State::up && has_room_ && lanes_.empty(); }
  Status copy_at_once(std::span<const std::byte> part, Lane lane, std::uint32_t cost);
  void note_transmitted(const Status& sent, std::uint32_t credit);
  bool must_wait(const Status& sent) const;
  Status queue(wire::Frame& frame, Lane lane);
  void count_sent(std::uint64_t bytes, std::uint32_t cost) {
    send_window_.take(cost);
    ++counters_.messages_sent;
    counters_.bytes_sent += bytes;
  }
  void send_control(const LinkHead& head, wire::Parts parts = {});
  void flush_control();
  void pump();
  bool send_queued(Queued& queued);
  bool send_offer(Queued& queued, const Passage& passage);
  void send_chunk(Queued& queued);
  bool will_lend(const Passage& passage) const;
  bool may_send_chunk() const;
  void give_up(Queued& queued, const Error& why);
  void say_bye();
  void answer_bye();
  void flush() override { pump(); }
  void on_room() override;

  // Receiving (link_receive.cpp).
  void on_frame(wire::Frame& frame) override;
  WritableBuffer place(const wire::Head& head, std::size_t part, std::uint64_t size) override;
  bool is_lent(const wire::Head& head) const override;
  void dispatch(const LinkHead& head, wire::Frame& frame);
  void take_message(const LinkHead& head, wire::Frame& frame);
  void take_offer(const LinkHead& head, wire::Frame& frame);
  void take_chunk(const LinkHead& head, wire::Frame& frame);
  void take_grant(const LinkHead& head);
  void take_decline(const LinkHead& head);
  void take_bye(const LinkHead& head);
  void deliver(wire::Frame& frame, std::uint64_t size, Lane lane, std::uint32_t cost);
  void admit(internal::Receiving& receiving);
  // The budget allows this transfer now.
  void grant(std::uint64_t transfer);
  void say_go_on(const internal::Receiving& receiving);
  internal::Receiving* find_receiving(std::uint64_t transfer) const;
  std::unique_ptr<internal::Receiving> remove_receiving(std::uint64_t transfer);

  // What every message touches comes first.
  State state_ = State::idle;
  bool has_room_ = true;        // The connection takes frames,
  bool has_chunk_room_ = true;  // and large ones.
  bool is_pumping_ = false;
  bool wants_room_ = false;        // A small message was refused: on_room() is owed.
  bool wants_large_room_ = false;  // A large one was.
  bool is_closing_ = false;        // The user has called close().
  bool was_ever_up_ = false;
  bool is_bye_said_ = false;
  bool is_bye_heard_ = false;
  std::uint8_t version_ = 0;
  std::size_t chunks_out_ = 0;  // Bytes of them that the driver has not let go of.
  std::unique_ptr<Connection> connection_;
  internal::LinkShared& shared_;
  LinkSink* sink_ = nullptr;
  SendWindow send_window_;
  ReceiveWindow receive_window_;
  KeepAlive keep_alive_;
  LinkCounters counters_;
  Lanes lanes_;

  std::vector<Control> control_;  // That found no room.
  std::vector<std::unique_ptr<internal::Receiving>> receiving_;
  std::uint64_t last_offered_ = 0;
  std::uint64_t last_offer_seen_ = 0;
  std::shared_ptr<internal::ChunkGate> gate_;
  LinkPeer peer_;
  std::unique_ptr<Handshake> handshake_;
  std::unique_ptr<internal::Dialing> dialing_;  // Null if it was accepted.
  std::optional<Error> why_;                    // Our own reason for the connection's end.
  loop::Timer timer_;                           // What for depends on the state.
  std::size_t place_among_up_ = SIZE_MAX;
  TimePoint up_since_{};
};

inline Link::Passage Link::look_at(const wire::Frame& frame) const {
  Passage passage;
  for (const Buffer& part : frame.parts) passage.total += part.size();
  // What is this small is charged, however it travels: not worth the question.
  if (passage.total < kReferenceFrom) return {passage.total, passage.total};
  for (const Buffer& part : frame.parts) {
    if (!is_passed(part)) passage.counted += part.size();
  }
  return passage;
}

}  // namespace muster::net
