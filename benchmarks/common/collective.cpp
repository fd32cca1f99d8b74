#include "benchmarks/common/collective.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <thread>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/samples.h"

namespace muster::bench {
namespace {

constexpr std::array<std::string_view, 8> kNames{"broadcast",      "scatter",   "gather",
                                                 "reduce",         "allreduce", "allgather",
                                                 "reduce_scatter", "alltoall"};

bool has_blocks(Collective operation) {
  return operation == Collective::scatter || operation == Collective::gather ||
         operation == Collective::allgather || operation == Collective::reduce_scatter ||
         operation == Collective::alltoall;
}

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "4B", "16K", "64M".
std::optional<std::size_t> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char unit = text.back();
  const auto number = parse_number(text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  if (unit == 'B') return *number;
  if (unit == 'K') return *number << 10;
  if (unit == 'M') return *number << 20;
  return std::nullopt;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    words.push_back(text.substr(at, dot - at));
    at = dot + 1;
  }
  return words;
}

constexpr std::size_t kPeriod = 64;

// Element `i` of what rank `rank` puts in.
float number_at(int rank, std::uint32_t round, std::size_t i) {
  return static_cast<float>((i + 13 * static_cast<std::size_t>(rank) + 5 * std::size_t{round}) %
                            kPeriod);
}

void fill_run(std::span<float> run, int rank, std::uint32_t round) {
  for (std::size_t i = 0; i < run.size(); ++i) run[i] = number_at(rank, round, i);
}

// Whether `run` is elements `from` onwards of the sum of ranks [first, last).
bool is_sum(std::span<const float> run, int first, int last, std::uint32_t round,
            std::size_t from) {
  std::array<float, kPeriod> expected{};
  for (std::size_t i = 0; i < kPeriod; ++i) {
    for (int rank = first; rank < last; ++rank) expected[i] += number_at(rank, round, from + i);
  }
  bool is_right = true;
  std::size_t i = 0;
  for (; i + kPeriod <= run.size() && is_right; i += kPeriod) {
    int wrong = 0;
    for (std::size_t k = 0; k < kPeriod; ++k) wrong |= run[i + k] != expected[k] ? 1 : 0;
    is_right = wrong == 0;
  }
  for (; i < run.size() && is_right; ++i) is_right = run[i] == expected[i % kPeriod];
  return is_right;
}

}  // namespace

std::optional<CollectiveJob> CollectiveJob::parse(std::string_view name) {
  std::vector<std::string_view> words = split(name);
  CollectiveJob job;
  if (words.front() == "tcp") {
    job.is_tcp = true;
    words.erase(words.begin());
  }
  if (words.back() == "arena") {
    job.is_arena = true;
    words.pop_back();
  }
  if (words.size() != 3) return std::nullopt;
  const auto found = std::find(kNames.begin(), kNames.end(), words[0]);
  const auto bytes = parse_size(words[1]);
  const auto ranks = parse_number(words[2]);
  if (found == kNames.end() || !bytes || !ranks || *ranks < 1 || *ranks > 64) return std::nullopt;
  job.operation = static_cast<Collective>(found - kNames.begin());
  job.ranks = static_cast<int>(*ranks);
  const std::size_t parts = has_blocks(job.operation) ? *ranks : 1;
  job.elements = std::max<std::size_t>(*bytes / sizeof(float) / parts, 1);
  return job;
}

std::size_t CollectiveJob::input_elements(int rank) const {
  const auto all = elements * static_cast<std::size_t>(ranks);
  switch (operation) {
    case Collective::broadcast: return 0;
    case Collective::scatter: return rank == 0 ? all : 0;
    case Collective::reduce_scatter:
    case Collective::alltoall: return all;
    default: return elements;
  }
}

std::size_t CollectiveJob::result_elements(int rank) const {
  const auto all = elements * static_cast<std::size_t>(ranks);
  switch (operation) {
    case Collective::gather: return rank == 0 ? all : 0;
    case Collective::reduce: return rank == 0 ? elements : 0;
    case Collective::allgather:
    case Collective::alltoall: return all;
    default: return elements;
  }
}

std::size_t CollectiveJob::largest_bytes() const {
  const std::size_t parts = has_blocks(operation) ? static_cast<std::size_t>(ranks) : 1;
  return elements * parts * sizeof(float);
}

void fill(const CollectiveJob& job, int rank, std::uint32_t round, std::span<float> input,
          std::span<float> result) {
  if (job.operation != Collective::broadcast) return fill_run(input, rank, round);
  // What was there before must not pass for what was sent.
  rank == 0 ? fill_run(result, 0, round) : fill_run(result, 0, round + 1);
}

void verify(const CollectiveJob& job, int rank, std::uint32_t round,
            std::span<const float> result) {
  const std::size_t block = job.elements;
  const std::size_t mine = static_cast<std::size_t>(rank) * block;
  bool is_right = true;
  switch (job.operation) {
    case Collective::broadcast: is_right = is_sum(result, 0, 1, round, 0); break;
    case Collective::scatter: is_right = is_sum(result, 0, 1, round, mine); break;
    case Collective::reduce:
    case Collective::allreduce: is_right = is_sum(result, 0, job.ranks, round, 0); break;
    case Collective::reduce_scatter: is_right = is_sum(result, 0, job.ranks, round, mine); break;
    default: {
      const std::size_t from = job.operation == Collective::alltoall ? mine : 0;
      for (int peer = 0; peer < job.ranks && !result.empty(); ++peer) {
        const auto run = result.subspan(static_cast<std::size_t>(peer) * block, block);
        is_right = is_right && is_sum(run, peer, peer + 1, round, from);
      }
    }
  }
  if (!is_right) fail("rank " + std::to_string(rank) + " has wrong numbers");
}

namespace {

class Timing {
 public:
  Timing(const CollectiveJob& job, const CollectiveParts& parts)
      : job_(job),
        parts_(parts),
        has_barriers_(job.is_rooted() && job.largest_bytes() <= std::size_t{64} << 10) {}

  // Nanoseconds of `times` operations, from when all are ready until all are done.
  std::int64_t batch(std::uint64_t times) {
    ++round_;
    parts_.prepare ? parts_.prepare(round_)
                   : fill(job_, parts_.rank, round_, parts_.input, parts_.result);
    parts_.barrier();
    const std::int64_t before = now_ns();
    for (std::uint64_t i = 0; i < times; ++i) {
      parts_.operate();
      if (has_barriers_) parts_.barrier();
    }
    if (!has_barriers_) parts_.barrier();
    const std::int64_t took = now_ns() - before;
    parts_.check ? parts_.check(round_) : verify(job_, parts_.rank, round_, parts_.result);
    return took;
  }

 private:
  const CollectiveJob& job_;
  const CollectiveParts& parts_;
  bool has_barriers_;
  std::uint32_t round_ = 0;
};

}  // namespace

Report time_collective(const CollectiveJob& job, const CollectiveParts& parts, double seconds) {
  constexpr double batch_ns = 200e3;
  Timing timing(job, parts);
  timing.batch(1);
  timing.batch(1);
  double one = static_cast<double>(timing.batch(1));
  const std::int64_t begin = now_ns();
  std::uint64_t times = 1;
  // How many it takes until a batch is long enough; small ones get faster when warm.
  for (int i = 0; i < 3 && !parts.is_destructive; ++i) {
    times = parts.agree(static_cast<std::uint64_t>(std::clamp(batch_ns / one, 1.0, 5000.0)));
    one = static_cast<double>(timing.batch(times)) / static_cast<double>(times);
  }
  const auto took = static_cast<double>(now_ns() - begin) / (parts.is_destructive ? 1 : 3);
  const double whole = std::max(took, one * static_cast<double>(times));
  const std::uint64_t batches =
      parts.agree(static_cast<std::uint64_t>(std::clamp(seconds * 1e9 / whole, 3.0, 20000.0)));
  Samples samples(batches);
  for (std::uint64_t i = 0; i < batches; ++i) {
    samples.add(timing.batch(times) / static_cast<std::int64_t>(times));
  }
  const double middle = samples.percentile(0.5) / 1e3;
  return {middle,
          "us",
          true,
          {{"batches", static_cast<double>(batches)}, {"per_batch", static_cast<double>(times)}}};
}

std::uint64_t Word::agree(int rank, std::uint64_t value) {
  // One word for all rounds: each rank counts how often it was asked.
  thread_local std::uint32_t asked = 0;
  ++asked;
  std::atomic_ref<std::uint32_t> said(said_);
  std::atomic_ref<std::uint64_t> shared(value_);
  if (rank == 0) {
    shared.store(value);
    said.store(asked);
    return value;
  }
  while (said.load() < asked) std::this_thread::sleep_for(std::chrono::microseconds(50));
  return shared.load();
}

Family collective_family(Report (*run)(std::string_view, const Options&), bool with_arena) {
  Family family;
  for (const std::string_view name : kNames) family.names.push_back(std::string(name) + ".4K.2");
  family.names.emplace_back("tcp.allreduce.4K.2");
  if (with_arena) family.names.emplace_back("allreduce.1M.2.arena");
  family.has = [](std::string_view name) {
    const auto job = CollectiveJob::parse(name);
    return job && !job->is_arena;
  };
  if (with_arena) {
    family.has = [](std::string_view name) { return CollectiveJob::parse(name).has_value(); };
  }
  family.run = run;
  return family;
}

}  // namespace muster::bench
