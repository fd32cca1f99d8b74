// What all connections of one ucx driver share: UCX, the pairs, and the poller
// that looks after them.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/base/id.h"
#include "muster/drivers/ucx/library.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/ucx/ucx_pair.h"
#include "muster/loop/loop.h"
#include "muster/net/complaints.h"

namespace muster::drivers::ucx {

class UcxConnection;

class UcxHub final : private loop::Poller, private loop::Flusher {
 public:
  static Result<std::unique_ptr<UcxHub>> make(loop::Loop& loop,
                                              std::unique_ptr<net::Driver> control,
                                              UcxOptions options);
  ~UcxHub();
  UcxHub(const UcxHub&) = delete;
  UcxHub& operator=(const UcxHub&) = delete;

  // The key of a connection, which is known from now on, or not any more.
  std::uint64_t enrol(UcxConnection& connection);
  void dismiss(std::uint64_t key);
  // Whom a message to `key` that came by `pair` is for; null if nobody.
  UcxConnection* find(std::uint64_t key, const UcxPair& pair) const;

  // The pair with that peer, made if there is none. It ends with its last holder.
  Result<std::shared_ptr<UcxPair>> pair_with(const PairKey& key);
  // A new one, where the one there is belongs to an earlier life of the peer's.
  Result<std::shared_ptr<UcxPair>> new_pair_with(const PairKey& key);

  // Looks at the pair itself from now on, instead of waiting for its descriptor.
  void make_hot(UcxPair& pair);
  // The same for a pair that has been given something to do: somebody looks at it
  // soon, though all sleep.
  void look_after(UcxPair& pair);
  // Before the turn is over: ends the connections of pairs that have failed, and
  // tells those who wait for others to settle.
  void tell_news_later() { loop_.flush_later(*this); }

  // Hands on what has come by `pair`, now. Not from inside UCX.
  void drain(UcxPair& pair);

  // Logs a warning, unless there was one a moment ago.
  void warn(std::string_view event, std::string_view detail);

  loop::Loop& loop() { return loop_; }
  net::Driver& control() { return *control_; }
  const UcxOptions& options() const { return options_; }
  const Context& context() const { return *context_; }
  const Id& id() const { return id_; }
  BufferPool& pool() { return pool_; }
  ReadRecord& scratch() { return scratch_; }

 private:
  struct Slot {
    UcxConnection* connection = nullptr;
    std::uint32_t tag = 0;
  };

  UcxHub(loop::Loop& loop, std::unique_ptr<net::Driver> control, UcxOptions options);
  void retire(UcxPair* pair);
  void bury();

  bool poll() override;
  loop::Outlook outlook() override {
    return hot_.empty() ? loop::Outlook::none : loop::Outlook::soon;
  }
  bool arm() override;
  void disarm() override {}
  void flush() override;

  loop::Loop& loop_;
  std::unique_ptr<net::Driver> control_;
  UcxOptions options_;
  std::unique_ptr<Context> context_;
  Id id_;
  BufferPool pool_;
  ReadRecord scratch_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::map<PairKey, std::weak_ptr<UcxPair>> pairs_;
  std::vector<UcxPair*> hot_;
  // Pairs that nobody holds any more, until UCX is done with them.
  struct Dying {
    std::unique_ptr<UcxPair> pair;
    TimePoint since;
    bool is_closing = false;
  };
  std::vector<Dying> dying_;
  loop::Timer burial_;
  net::Complaints complaints_{"ucx"};
  bool is_inside_ = false;  // UCX is at work further up the stack.
};

}  // namespace muster::drivers::ucx
