// Collectives over a Communicator, ranks as processes, with default settings.
//
// A name that ends with @GROUND:ALGORITHM:SEGMENT is done by that method alone;
// scripts/tune uses it.
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "benchmarks/common/body.h"
#include "benchmarks/common/collective.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/folder.h"
#include "muster/collectives/choices.h"
#include "muster/collectives/communicator.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/registries/embedded/embedded.h"

namespace muster::bench::ours {
namespace {

using namespace std::chrono_literals;
using collectives::Communicator;
using collectives::Reduction;

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().describe());
  return *std::move(result);
}

struct Common {
  Word word;
  double microseconds = 0;
};

// Which method is measured; the library's own choice if it is not said.
struct Forced {
  collectives::Ground ground = collectives::Ground::links;
  collectives::ChoiceTable table;
};

std::optional<Forced> parse_forced(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto algorithm = collectives::algorithm_named(text.substr(first + 1, second - first - 1));
  std::uint64_t segment = 0;
  const std::string_view digits = text.substr(second + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), segment);
  if (!algorithm || read.ec != std::errc{}) return std::nullopt;
  for (const collectives::Ground ground : collectives::kGrounds) {
    if (name(ground) != text.substr(0, first)) continue;
    std::vector<collectives::Choice> rows;
    for (const collectives::Operation operation : collectives::kOperations) {
      const auto shape = collectives::Shape::equal(operation, 2, 0, 1);
      if (!collectives::is_possible(shape, *algorithm)) continue;
      rows.push_back({ground, operation, 2, ~std::uint64_t{0}, *algorithm, segment});
    }
    return Forced{ground, must(collectives::ChoiceTable::make(std::move(rows)))};
  }
  return std::nullopt;
}

struct Parsed {
  CollectiveJob job;
  std::optional<Forced> forced;
};

std::optional<Parsed> parse_name(std::string_view name) {
  const std::size_t at = name.find('@');
  const auto job = CollectiveJob::parse(name.substr(0, at));
  if (!job) return std::nullopt;
  if (at == std::string_view::npos) return Parsed{*job, std::nullopt};
  auto forced = parse_forced(name.substr(at + 1));
  if (!forced) return std::nullopt;
  return Parsed{*job, std::move(forced)};
}

// One rank with all that it needs.
class Rank {
 public:
  Rank(const Parsed& parsed, int rank, const std::string& folder)
      : job_(parsed.job), rank_(rank), loop_(must(loop::Loop::make())) {
    const CollectiveJob& job = parsed.job;
    {
      const loop::Turn turn(*loop_);
      if (job.is_tcp) {
        driver_ = drivers::make_tcp_driver(*loop_);
      } else {
        driver_ = must(drivers::make_shm_driver(*loop_));
      }
      registry_ = registries::make_embedded_registry(*loop_, {.folder = folder});
    }
    collectives::CommunicatorOptions options;
    options.name = "bench";
    options.size = static_cast<collectives::Rank>(job.ranks);
    options.rank = static_cast<collectives::Rank>(rank);
    options.registry = registry_.get();
    options.drivers = {driver_.get()};
    options.token.assign(32, std::byte{0x5A});
    options.use_shared_memory = !job.is_tcp;
    if (parsed.forced) {
      options.choices = &parsed.forced->table;
      options.use_process_vm = parsed.forced->ground != collectives::Ground::windows;
    }
    all_ = must(Communicator::join(*loop_, options, 20s));
    input = numbers(job.input_elements(rank), input_memory_);
    result = numbers(job.result_elements(rank), result_memory_);
  }
  ~Rank() {
    shared_.clear();
    shown_ = Buffer();
    input_memory_ = {};
    result_memory_ = {};
    all_.reset();
    const loop::Turn turn(*loop_);
    registry_.reset();
    driver_.reset();
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void barrier() { must(all_->barrier()); }

  // Results that all have alike are read where they lie, if they are in the arena.
  bool reads_in_place() const {
    const bool is_shared =
        job_.operation == Collective::broadcast || job_.operation == Collective::allgather;
    return job_.is_arena && is_shared && job_.largest_bytes() >= std::size_t{16} << 20;
  }

  // What others have is read as a whole; what is added up keeps it from being left out.
  void operate_in_place() {
    shared_.clear();
    if (job_.operation == Collective::broadcast) {
      shared_.push_back(must(all_->share(rank_ == 0 ? shown_ : Buffer(), 0)));
    } else {
      shared_ = must(all_->all_share(shown_));
    }
    for (const Buffer& part : shared_) {
      if (part.data() != shown_.data()) seen_ = seen_ + sum_words(part.bytes());
    }
  }

  // The numbers of a round, in memory that nobody writes any more.
  void show(std::uint32_t round) {
    const std::size_t count =
        job_.operation == Collective::broadcast ? (rank_ == 0 ? job_.elements : 0) : job_.elements;
    shared_.clear();
    shown_ = Buffer();
    if (count == 0) return;
    WritableBuffer memory = must(all_->allocate(count * sizeof(float)));
    const std::span<float> numbers(reinterpret_cast<float*>(memory.data()), count);
    job_.operation == Collective::broadcast ? fill(job_, rank_, round, {}, numbers)
                                            : fill(job_, rank_, round, numbers, {});
    shown_ = std::move(memory).freeze();
  }

  void verify_in_place(std::uint32_t round) {
    std::vector<float> whole;
    for (const Buffer& part : shared_) {
      whole.insert(whole.end(), floats(part).begin(), floats(part).end());
    }
    verify(job_, rank_, round, whole);
  }

  void operate() {
    switch (job_.operation) {
      case Collective::broadcast: must(all_->broadcast(result, 0)); return;
      case Collective::scatter: must(all_->scatter(input, result, 0)); return;
      case Collective::gather: must(all_->gather(input, result, 0)); return;
      case Collective::reduce: must(all_->reduce(input, result, Reduction::sum, 0)); return;
      case Collective::allreduce: must(all_->all_reduce(input, result, Reduction::sum)); return;
      case Collective::allgather: must(all_->all_gather(input, result)); return;
      case Collective::reduce_scatter:
        must(all_->reduce_scatter(input, result, Reduction::sum));
        return;
      case Collective::alltoall: must(all_->all_to_all(input, result)); return;
    }
  }

  std::span<float> input;
  std::span<float> result;

 private:
  struct Memory {
    std::vector<float> own;
    WritableBuffer arena;
  };

  static std::span<const float> floats(const Buffer& buffer) {
    return {reinterpret_cast<const float*>(buffer.data()), buffer.size() / sizeof(float)};
  }

  std::span<float> numbers(std::size_t count, Memory& memory) {
    if (!job_.is_arena) {
      memory.own.resize(count);
      return memory.own;
    }
    if (count == 0) return {};
    memory.arena = must(all_->allocate(count * sizeof(float)));
    std::memset(memory.arena.data(), 0, memory.arena.size());
    return {reinterpret_cast<float*>(memory.arena.data()), count};
  }

  CollectiveJob job_;
  int rank_;
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<msg::Registry> registry_;
  std::unique_ptr<Communicator> all_;
  Memory input_memory_;
  Memory result_memory_;
  Buffer shown_;
  std::vector<Buffer> shared_;
  volatile std::uint64_t seen_ = 0;
};

void run_rank(const Parsed& parsed, int rank, const std::string& folder, double seconds,
              Common& common) {
  const CollectiveJob& job = parsed.job;
  Rank self(parsed, rank, folder);
  CollectiveParts parts;
  parts.rank = rank;
  parts.input = self.input;
  parts.result = self.result;
  parts.operate = [&] { self.operate(); };
  parts.barrier = [&] { self.barrier(); };
  parts.agree = [&](std::uint64_t value) { return common.word.agree(rank, value); };
  if (self.reads_in_place()) {
    parts.prepare = [&](std::uint32_t round) { self.show(round); };
    parts.operate = [&] { self.operate_in_place(); };
    parts.check = [&](std::uint32_t round) { self.verify_in_place(round); };
  }
  const Report report = time_collective(job, parts, seconds);
  if (rank == 0) common.microseconds = report.value;
}

}  // namespace

bool has_collective(std::string_view name) { return parse_name(name).has_value(); }

Report collective(std::string_view name, const Options& options) {
  const auto parsed = parse_name(name);
  const Folder folder;
  const Shared<Common> common;
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < parsed->job.ranks; ++rank) {
    ranks.push_back(std::make_unique<Process>(
        [&, rank] { run_rank(*parsed, rank, folder.path(), options.seconds, *common); }));
  }
  for (const auto& rank : ranks) rank->join();
  return {common->microseconds, "us", true, {}};
}

}  // namespace muster::bench::ours
