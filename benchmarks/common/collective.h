// One collective operation of float32 over ranks that are processes: what it
// is, the numbers that go in and must come out, and how it is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/common/program.h"
#include "benchmarks/common/report.h"

namespace muster::bench {

enum class Collective : std::uint8_t {
  broadcast,
  scatter,
  gather,
  reduce,
  allreduce,
  allgather,
  reduce_scatter,
  alltoall,
};

// `<op>.<size>.<ranks>`, with `tcp.` in front and `.arena` behind where that is
// meant. The size is the bytes of the largest buffer of a rank; each rank has
// at least one element.
struct CollectiveJob {
  Collective operation = Collective::allreduce;
  std::size_t elements = 0;  // Of a rank, or (scatter and the like) of a rank's block.
  int ranks = 0;
  bool is_arena = false;
  bool is_tcp = false;

  // Nothing for what is no such name.
  static std::optional<CollectiveJob> parse(std::string_view name);

  bool is_rooted() const { return operation <= Collective::reduce; }
  // Of a rank; 0 where it has none. The root is rank 0. A broadcast has its
  // numbers in the result, at the root too.
  std::size_t input_elements(int rank) const;
  std::size_t result_elements(int rank) const;
  std::size_t largest_bytes() const;
};

// Numbers that are different in each round and for each rank, and whose sums
// are exact.
void fill(const CollectiveJob& job, int rank, std::uint32_t round, std::span<float> input,
          std::span<float> result);
// Fails the program if one is wrong.
void verify(const CollectiveJob& job, int rank, std::uint32_t round, std::span<const float> result);

// What a program brings.
struct CollectiveParts {
  int rank = 0;
  std::span<float> input;
  std::span<float> result;
  std::function<void()> operate;
  std::function<void()> barrier;
  // What rank 0 says, on all ranks.
  std::function<std::uint64_t(std::uint64_t)> agree;
  // It changes its input, so that each operation needs a new one.
  bool is_destructive = false;
  // Instead of fill() and verify(), where the numbers lie elsewhere. May be empty.
  std::function<void(std::uint32_t round)> prepare;
  std::function<void(std::uint32_t round)> check;
};

// The time of one operation in microseconds, the median over batches of them.
// Every batch has numbers of its own, which are verified after it. Rooted
// operations of few bytes have a barrier after each: they would else overlap
// from call to call. Rank 0 has the report.
Report time_collective(const CollectiveJob& job, const CollectiveParts& parts, double seconds);

// Rank 0's word, for ranks that share memory of their parent's.
class Word {
 public:
  std::uint64_t agree(int rank, std::uint64_t value);

 private:
  std::uint64_t value_ = 0;
  std::uint32_t said_ = 0;
};

// All names of jobs, with or without `.arena`. --list names a few, so that each
// operation is tried by tests.
Family collective_family(Report (*run)(std::string_view, const Options&), bool with_arena);

}  // namespace muster::bench
