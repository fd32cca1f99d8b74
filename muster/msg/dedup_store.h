// DedupStore: remembers over a crash which messages were handled.
//
// A proxy that has one never gets a message again that its name has committed,
// whichever incarnation did. A message whose effect and whose id are committed
// together, in one transaction of whatever the effect goes to, is handled exactly
// once; FileDedupStore does that for effects that are bytes. With the reply to a
// task beside its id, the one who asked gets that, however often processes die.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/msg/message.h"

namespace muster::msg {

// A message, by whom it came from: one that was handled at least once.
struct HandledId {
  std::string source;
  MessageId id;

  friend auto operator<=>(const HandledId&, const HandledId&) = default;
};

struct Handled : HandledId {
  // What answered it, to be given back as it is; empty: nothing, or it is not known.
  Buffer reply = {};
};

// Called by any thread, never under the baton.
class DedupStore {
 public:
  virtual ~DedupStore() = default;

  // All that was committed and not forgotten. Asked once, when a proxy starts.
  virtual Result<std::vector<Handled>> load() = 0;
  // Remembers them for good: only then their senders hear that they are done.
  // Those that the handler has committed by itself are left as they are, but for
  // a reply that was not there.
  virtual Status commit(std::span<const Handled> handled) = 0;
  // Their senders have heard of it, and will never send them again.
  virtual Status forget(std::span<const HandledId> ids) = 0;
};

}  // namespace muster::msg
