// Collectives over a Communicator, ranks as processes, with default settings.
#include <cstring>
#include <memory>
#include <vector>

#include "benchmarks/common/collective.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/folder.h"
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

// One rank with all that it needs.
class Rank {
 public:
  Rank(const CollectiveJob& job, int rank, const std::string& folder)
      : job_(job), rank_(rank), loop_(must(loop::Loop::make())) {
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
    all_ = must(Communicator::join(*loop_, options, 20s));
    input = numbers(job.input_elements(rank), input_memory_);
    result = numbers(job.result_elements(rank), result_memory_);
  }
  ~Rank() {
    shared_.clear();
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
  std::vector<Buffer> shared_;
};

void run_rank(const CollectiveJob& job, int rank, const std::string& folder, double seconds,
              Common& common) {
  Rank self(job, rank, folder);
  CollectiveParts parts;
  parts.rank = rank;
  parts.input = self.input;
  parts.result = self.result;
  parts.operate = [&] { self.operate(); };
  parts.barrier = [&] { self.barrier(); };
  parts.agree = [&](std::uint64_t value) { return common.word.agree(rank, value); };
  const Report report = time_collective(job, parts, seconds);
  if (rank == 0) common.microseconds = report.value;
}

}  // namespace

Report collective(std::string_view name, const Options& options) {
  const auto job = CollectiveJob::parse(name);
  const Folder folder;
  const Shared<Common> common;
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < job->ranks; ++rank) {
    ranks.push_back(std::make_unique<Process>(
        [&, rank] { run_rank(*job, rank, folder.path(), options.seconds, *common); }));
  }
  for (const auto& rank : ranks) rank->join();
  return {common->microseconds, "us", true, {}};
}

}  // namespace muster::bench::ours
