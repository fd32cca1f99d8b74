// The seam between proxies and whatever knows who is there: a registry tells
// each member of a group about all the others.
//
// Everything here happens under the loop's baton. Names are stable and
// incarnations count up: a component that comes back under its name is the same
// one with a higher incarnation, and what still bears a lower one is fenced.
// Within one lease after the last fault all members agree on names and
// incarnations. Every registry passes msg/testing/registry_suite.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/id.h"
#include "muster/base/result.h"

namespace muster::msg {

// One component of a group, as the registry knows it.
struct Member {
  std::string name;
  std::string type;
  Id id;                               // Of this incarnation; links prove it.
  std::uint64_t incarnation = 0;       // Counts up per name; 0: not given yet.
  std::vector<std::string> addresses;  // The best first.

  bool operator==(const Member&) const = default;
};

// Who hears from a registry. Outlives its membership, and must not destroy it
// from inside a call but for on_ended().
class RegistrySink {
 public:
  // The registry has taken us in, with this incarnation, and everybody it knows
  // has been told by on_joined() before. Again after each time that it was lost, and
  // when our incarnation has become a higher one.
  virtual void on_admitted(const Member& self) = 0;

  // A component that was not there, or is there with a higher incarnation or
  // other addresses than was told last. Never ourselves.
  virtual void on_joined(const Member& member) = 0;

  // It said goodbye.
  virtual void on_left(const Member& member) = 0;

  // It is gone without a goodbye: its process died, or its lease ran out.
  virtual void on_lost(const Member& member, const Error& why) = 0;

  // The registry cannot be reached. What it said last stands; it is tried
  // again until the membership ends, and on_admitted() follows. Not for a gap
  // that is over before anybody could make use of knowing.
  virtual void on_unreachable(const Error& why) = 0;

  // The last call, exactly once, never from inside join() or leave():
  // Code::cancelled after leave(); fenced (Code::invalid) if a younger
  // incarnation bears our name; any other error if the registry will not have
  // us. The membership may be destroyed here.
  virtual void on_ended(Error why) = 0;

 protected:
  ~RegistrySink() = default;
};

class Membership {
 public:
  // Goes without a goodbye, as a dying process does; its sink hears nothing more.
  virtual ~Membership() = default;

  // Says goodbye; on_ended() follows, within a deadline of the registry's.
  virtual void leave() = 0;

  // `known` was met, and the registry speaks of another under its name with no higher
  // incarnation: it has forgotten how high that name had counted. Whoever bears the name
  // there is given a higher one, and hears of it by on_admitted(). Does nothing if the
  // registry knows better, or is away.
  virtual void remind(const Member& known) = 0;
};

struct JoinRequest {
  std::string group;
  Member self;  // Its incarnation is the registry's to give.
  // How long the registry keeps a member that it does not hear from, where it
  // has no better means to know.
  Duration lease = std::chrono::milliseconds(2800);
};

// What a registry takes: names of groups, types and components are 1 to kMaxName
// of A-Z a-z 0-9 _ - . and do not begin with a dot; addresses are few and short.
inline constexpr std::size_t kMaxName = 64;
inline constexpr std::size_t kMaxAddresses = 16;
inline constexpr std::size_t kMaxAddress = 256;
// No name counts higher; a number above is nobody's.
inline constexpr std::uint64_t kMaxIncarnation = std::uint64_t{1} << 53;
inline constexpr Duration kShortestLease = std::chrono::milliseconds(100);
inline constexpr Duration kLongestLease = std::chrono::hours(1);

bool is_name(std::string_view text);
// Code::invalid, with what is wrong, for a member or request that cannot be.
Status check(const Member& member);
Status check(const JoinRequest& request);
Status check_group(std::string_view name);

// A question to a registry that is under way. Its end takes the question back.
class Inquiry {
 public:
  virtual ~Inquiry() = default;
};

class Registry {
 public:
  // Who is there, in the order of names. Code::unavailable or timeout: the
  // registry did not answer.
  using OnRoll = std::function<void(Result<std::vector<Member>>)>;

  virtual ~Registry() = default;  // After its memberships and inquiries.

  // Announces `request.self` and watches its group. Code::invalid for names
  // that cannot be; all else is told to the sink.
  virtual Result<std::unique_ptr<Membership>> join(const JoinRequest& request,
                                                   RegistrySink& sink) = 0;

  // Asks who is in `group`, as an onlooker: nobody hears of it, and nothing is
  // made or served for its sake. `done` is called once, never from inside this,
  // and may destroy the inquiry. Code::invalid for a group that cannot be.
  virtual Result<std::unique_ptr<Inquiry>> ask(const std::string& group, OnRoll done) = 0;
};

}  // namespace muster::msg
