// UcxPair: a UCX worker of this process for one other process, and the endpoint
// that leads to that one's worker. All connections between the two share it.
//
// One worker for each peer, and not one for all: when a peer has died, UCX keeps
// parts of what it had to do with it until the worker goes. This one goes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "muster/base/id.h"
#include "muster/drivers/ucx/greeting.h"
#include "muster/drivers/ucx/in_flight.h"
#include "muster/drivers/ucx/seal.h"
#include "muster/loop/loop.h"

// NOLINTBEGIN(readability-identifier-naming): UCX's.
struct ucp_worker;
struct ucp_ep;
// NOLINTEND(readability-identifier-naming)

namespace muster::drivers::ucx {

class UcxHub;

// Whom a pair is with. A process that dials itself has two of them.
struct PairKey {
  Id peer;
  bool is_dialed = false;  // Only where the peer is this very driver.
  friend auto operator<=>(const PairKey&, const PairKey&) = default;
};

class UcxPair final : private loop::FdHandler {
 public:
  // What a message is, as UCX numbers them.
  enum class Kind : std::uint8_t { record = 1, part = 2, probe = 3 };

  class Waiter {
   public:
    // It is settled, or has failed.
    virtual void on_settled() = 0;

   protected:
    ~Waiter() = default;
  };

  static Result<std::unique_ptr<UcxPair>> make(UcxHub& hub, const PairKey& key);
  ~UcxPair();
  UcxPair(const UcxPair&) = delete;
  UcxPair& operator=(const UcxPair&) = delete;

  const PairKey& key() const { return key_; }
  std::uint64_t id() const { return id_; }
  const Buffer& address() const { return address_; }

  // Leads to the peer's worker from now on. Once.
  Status connect(std::uint64_t remote, const Buffer& address);
  bool is_connected() const { return endpoint_ != nullptr; }
  std::uint64_t remote() const { return remote_; }

  // Both ends have heard of each other by UCX itself. Only then is there anything
  // else to carry: UCX 1.13 ends the process where it is left in the middle.
  bool is_settled() const { return was_heard_ && was_probed_; }
  // Now if it is, else later, never from inside UCX.
  void call_when_settled(Waiter& waiter);
  void forget(Waiter& waiter) { std::erase(waiters_, &waiter); }
  void tell_settled();

  // Hands over a record at once, and needs nothing of it afterwards. False if
  // UCX cannot just now, or not that many bytes: then send() does.
  bool send_at_once(std::span<const std::byte> record);

  std::unique_ptr<Outgoing> take_outgoing();
  // The message is `bytes`, which `outgoing` keeps, and of a part its header.
  // Afterwards the pair may have failed.
  void send(Kind kind, std::unique_ptr<Outgoing> outgoing, std::span<const std::byte> bytes);
  // Receives the part that `descriptor` stands for. False if it cannot.
  bool fetch(std::unique_ptr<Fetch> fetch, void* descriptor);

  // Lets UCX work, and hands on what came. True if there was anything.
  bool progress();
  // From now on the descriptor tells; false if there is something already. True
  // does not mean that there is nothing: some fabrics do not look.
  bool arm();
  // UCX has nothing left to do; it may still write somewhere.
  bool is_idle() const { return outgoing_.empty() && fetches_.empty(); }
  bool is_written_to() const { return !fetches_.empty(); }

  // Its descriptor tells nobody any more.
  void stop_watching();
  // Settled, or with nothing that could be left in the middle.
  bool may_close() const;
  // Ends it by force. Then progress() until it is idle, or long enough.
  void start_closing();

  const std::optional<Error>& failure() const { return failure_; }
  void set_failed(int status);

  std::uint32_t quiet = 0;  // The hub's: how often there was nothing.

 private:
  struct Calls;  // What UCX calls.

  UcxPair(UcxHub& hub, const PairKey& key);
  Status open();
  void on_ready(std::uint32_t events) override;
  void finish(Outgoing& outgoing, int status);
  void finish(Fetch& fetch, int status);
  void saw_traffic() {
    if (seals_left_ > 0) seal_again();
  }
  void seal_again();

  UcxHub& hub_;
  PairKey key_;
  std::uint64_t id_;
  Seal seal_;
  int seals_left_;
  ::ucp_worker* worker_ = nullptr;
  ::ucp_ep* endpoint_ = nullptr;
  int descriptor_ = -1;
  bool is_watched_ = false;
  Buffer address_;
  std::uint64_t remote_ = 0;
  InFlight<Outgoing> outgoing_;
  InFlight<Fetch> fetches_;
  std::vector<std::unique_ptr<Outgoing>> spare_;
  std::optional<Error> failure_;
  std::shared_ptr<Account> own_ = std::make_shared<Account>();  // For what is the pair's own.
  std::vector<Waiter*> waiters_;
  bool was_heard_ = false;   // The peer's probe came,
  bool was_probed_ = false;  // and ours has left.
};

}  // namespace muster::drivers::ucx
