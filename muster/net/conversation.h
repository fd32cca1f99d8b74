// Conversation: one link, for a thread that sends and receives in blocking calls.
//
// For programs that talk to one peer, such as tools and tests; what has many
// peers uses links themselves.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/net/endpoint.h"

namespace muster::net {

// Not under the baton, all of this; one thread at a time.
class Conversation final : private LinkSink {
 public:
  // Both outlive it.
  Conversation(loop::Loop& loop, Endpoint& endpoint) : loop_(loop), endpoint_(endpoint) {}
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Lets itself be dialled; the first who proves itself is the peer. Gives the
  // addresses as they turned out.
  Result<std::vector<Address>> listen(std::span<const Address> addresses);
  // Waits until somebody has come. Code::timeout, code::unavailable.
  Status wait_until_up(TimePoint deadline = kForever);
  // Dials a peer that has these addresses, and waits until the link is up.
  Status connect(const std::vector<Address>& addresses, DialOptions options = {},
                 TimePoint deadline = kForever);

  // Waits while the link has no room. Code::timeout: it was not sent.
  Status send(Buffer body, TimePoint deadline = kForever);
  // The same for a copy of `body`. Costs less, if it is small.
  Status send_copy(std::span<const std::byte> body, TimePoint deadline = kForever);
  // The body of the next message; one without parts has an empty one, of one
  // with several only the first is given.
  Result<Buffer> receive(TimePoint deadline = kForever);
  // Memory for a body that the peer can read where it lies, if there is such.
  Result<WritableBuffer> allocate(std::size_t size);

  // Sends what is queued and ends the link; returns when it has ended.
  void close();

  // Who is at the other end. Only once the link has been up.
  LinkPeer peer() const;

 private:
  // One who came when there was a peer already.
  struct Latecomer final : LinkSink {
    explicit Latecomer(std::unique_ptr<Link> the_link) : link(std::move(the_link)) {}
    void on_up(Link&) override { link->close(); }
    void on_message(wire::Frame&, Lane, std::size_t) override {}
    void on_closed(Error) override { link.reset(); }
    std::unique_ptr<Link> link;
  };

  template <class Send>
  Status send_when_possible(const Send& send, TimePoint deadline);
  Status wait_for_room(TimePoint deadline);
  bool take_arrived();
  Error ended() const;

  void on_up(Link& link) override;
  void on_message(wire::Frame& frame, Lane lane, std::size_t cost) override;
  void on_closed(Error why) override { end_ = std::move(why); }

  loop::Loop& loop_;
  Endpoint& endpoint_;
  std::unique_ptr<Link> link_;
  std::list<Latecomer> late_;
  bool is_up_ = false;
  std::optional<Error> end_;
  std::vector<Buffer> arrived_;  // Guarded by the baton.
  std::size_t arrived_cost_ = 0;
  std::vector<Buffer> taken_;  // The caller's own.
  std::size_t next_ = 0;
};

}  // namespace muster::net
