// PlanShelf: the latest plans, since programs do the same operations again and again.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "muster/collectives/choices.h"
#include "muster/collectives/plan.h"
#include "muster/collectives/shape.h"

namespace muster::collectives::internal {

class PlanShelf {
 public:
  // Between the ranks of which crew, over what, of elements of which size.
  struct Setting {
    std::uint64_t context = 0;
    Ground ground = Ground::links;
    std::size_t size = 0;

    friend bool operator==(const Setting&, const Setting&) = default;
  };

  // The plan that was made for the same, or what `make` gives. Until the next call.
  template <class Make>
  const Plan& find(const Setting& setting, const Shape& shape, const Make& make) {
    for (const Kept& kept : kept_) {
      if (kept.is_there && kept.setting == setting && kept.shape == shape) return kept.plan;
    }
    Kept& place = kept_[next_];
    place.is_there = false;
    place.plan = make();
    place.setting = setting;
    place.shape = shape;
    // A long one costs little beside what it does.
    place.is_there = place.plan.steps.size() <= kLong;
    if (place.is_there) next_ = (next_ + 1) % kept_.size();
    return place.plan;
  }

 private:
  static constexpr std::size_t kLong = 256;

  struct Kept {
    bool is_there = false;
    Setting setting;
    Shape shape;
    Plan plan;
  };

  std::array<Kept, 4> kept_;
  std::size_t next_ = 0;
};

}  // namespace muster::collectives::internal
