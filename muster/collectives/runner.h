// Runner: carries out a plan's steps between the ranks of a crew.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/collectives/call.h"
#include "muster/collectives/crew.h"
#include "muster/collectives/plan.h"

namespace muster::collectives::internal {

// Memory that operations of one crew use again and again. Of the thread that
// is inside.
struct Workshop {
  struct Window {
    WritableBuffer memory;
    std::uint64_t used_in = 0;  // The last operation that it belonged to.
  };
  std::vector<Window> windows;
  std::vector<std::byte> scratch;
  std::vector<std::byte> tiles;
};

class Runner {
 public:
  Runner(Crew& crew, Workshop& workshop, const Call& call, std::uint64_t number)
      : crew_(crew), workshop_(workshop), call_(call), number_(number) {}

  // Between Crew::begin() and Crew::end().
  Status run(const Plan& plan);

 private:
  // Where a slice of another rank lies.
  struct Source {
    const std::byte* direct = nullptr;  // Null: to be read from its process.
    std::int64_t pid = 0;
    std::uint64_t address = 0;
    std::shared_ptr<arena::Segment> keep;
  };

  Status prepare(const Plan& plan);
  Status prepare_window(std::uint64_t bytes);
  Status expose(const Plan& plan);
  Result<Region> region_of(const std::byte* data, std::uint64_t bytes);
  Status move_into_arena(const Plan& plan);
  Status step(const Plan& plan, const Step& step);
  void lend_and_send(const Step& step);
  Status receive(const Step& step);
  Status wait(const std::vector<Rank>& group, std::uint32_t phase);
  Status fetch(const Step& step);
  Status combine_group(const Plan& plan, const Step& step);
  Status combine_tiles(const Step& step, const std::vector<Source>& sources, std::size_t ranks);
  Result<Source> find(Rank peer, const Slice& slice);
  Status read(const Source& source, std::uint64_t offset, std::byte* to, std::uint64_t bytes);
  std::byte* at(const Slice& slice) const;
  std::uint64_t bytes(const Slice& slice) const { return slice.count * size_of(call_.element); }
  void reduce(const std::byte* other, std::byte* to, std::uint64_t count, bool is_left);
  Status finish_up(const Plan& plan, const Status& outcome);

  Crew& crew_;
  Workshop& workshop_;
  const Call& call_;
  const std::uint64_t number_;
  const std::byte* input_ = nullptr;
  std::byte* result_ = nullptr;
  std::byte* window_ = nullptr;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t result_bytes_ = 0;
  WritableBuffer arena_input_;  // Where the caller's memory cannot be read by others.
  WritableBuffer arena_result_;
  std::vector<std::optional<Exposure>> exposures_;  // Of peers, as far as known.
};

}  // namespace muster::collectives::internal
