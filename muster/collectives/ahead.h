// Ahead: which messages of a plan may be written where they belong before their
// step comes, because nothing else uses that memory until then. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "muster/collectives/plan.h"

namespace muster::collectives {

class Ahead {
 public:
  // Where a slice of this rank lies, in units of any size.
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  using Locate = std::function<Extent(const Slice&)>;
  // The so-many-th send of the plan no longer needs its slice.
  using IsSettled = std::function<bool(std::size_t send)>;
  struct Landing {
    const Step* step;
    std::uint64_t index;  // Of the message, among those from its peer.
  };

  // Messages of at least `least` units are worth it. The plan outlives this.
  Ahead(const Plan& plan, std::uint64_t least, Locate locate, IsSettled is_settled);

  // False if there is nothing to be found at all.
  bool is_of_use() const { return is_of_use_; }

  // Another message that may be written from now on, while step `now` is the
  // next to be done; nothing if there is none yet. Each is given once.
  std::optional<Landing> next(std::size_t now);

 private:
  bool is_free(const Step& step, std::size_t now) const;
  bool touches(const Step& step, const Extent& memory) const;
  bool overlaps(const Slice& slice, const Extent& memory) const;
  void look_back(std::size_t now);
  std::uint64_t& count_of(Rank peer);

  const Plan& plan_;
  const std::uint64_t least_;
  const Locate locate_;
  const IsSettled is_settled_;
  bool is_of_use_ = false;
  std::size_t ahead_ = 0;                // The first step that was not looked at.
  std::size_t behind_ = 0;               // The first that is not known to be done.
  std::vector<const Step*> sends_;       // That are done,
  std::size_t settled_ = 0;              // so many of them settled.
  std::vector<std::uint64_t> received_;  // Messages before `ahead_`, by peer.
};

}  // namespace muster::collectives
