// Runner: carries out a plan's steps between the ranks of a crew.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/collectives/ahead.h"
#include "muster/collectives/call.h"
#include "muster/collectives/choices.h"
#include "muster/collectives/crew.h"
#include "muster/collectives/kernels.h"
#include "muster/collectives/plan.h"
#include "muster/collectives/plan_shelf.h"

namespace muster::collectives::internal {

// Memory that operations of one crew use again and again. Of the thread that
// is inside.
struct Workshop {
  std::vector<std::byte> scratch;
  std::vector<std::byte> tiles;
  // What stands for the caller's memory in one operation. It is let go once
  // nobody else reads or writes it.
  std::vector<std::byte> moved;
  WritableBuffer arena_input;  // Where the caller's memory cannot be read by others.
  WritableBuffer arena_result;
  PlanShelf plans;

  void let_go() {
    if (!moved.empty()) moved = std::vector<std::byte>();
    if (arena_input.size() > 0) arena_input = WritableBuffer();
    if (arena_result.size() > 0) arena_result = WritableBuffer();
  }
};

class Runner {
 public:
  // `shape` is that of `call`.
  Runner(Crew& crew, Workshop& workshop, const Call& call, const Shape& shape);

  // Between Crew::begin() and Crew::end().
  Status run();

 private:
  // Where a slice of another rank lies.
  struct Source {
    const std::byte* direct = nullptr;  // Null: to be read from its process.
    Rank peer = 0;
    std::int64_t pid = 0;
    std::uint64_t address = 0;
    std::shared_ptr<arena::Segment> keep;
  };

  const Plan& plan_for(Ground ground);
  Status run(const Plan& plan);
  Status show();
  Result<Ground> see_all();
  Region region_of(const std::byte* data, std::uint64_t bytes) const;
  Status move_into_arena();
  Status see(Rank peer);
  Status step(const Plan& plan, const Step& step);
  void announce(Ahead& ahead, std::size_t now);
  void copy(const Step& step);
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
  void reduce(const std::byte* own, const std::byte* other, const Step& step);
  // By the size of the whole result: a segment of it would stay in the caches, but
  // not until it is read.
  Stores stores_for(const Step& step) const {
    return step.is_stream && result_bytes_ >= kStreamingBytes ? Stores::streaming : Stores::cached;
  }
  Status finish_up();

  Crew& crew_;
  Workshop& workshop_;
  const Call& call_;
  const Shape& shape_;
  const std::byte* input_;
  std::byte* result_;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t result_bytes_ = 0;
  // On one host: of the processors that all see.
  ProcessorMaker maker_ = ProcessorMaker::other;
  std::vector<std::optional<Exposure>> exposures_;  // Of peers, as far as known.
};

}  // namespace muster::collectives::internal
