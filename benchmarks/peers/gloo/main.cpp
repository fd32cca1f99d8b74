// bench_gloo: Gloo's collectives over its TCP transport, the only one it has here.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "benchmarks/common/collective.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/program.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/peers/gloo/operate.h"

namespace muster::bench::gloo_peer {
namespace {

struct Common {
  Word word;
  double microseconds = 0;
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
  parts.is_destructive = job.operation == Collective::reduce_scatter;
  if (parts.is_destructive) {
    // The sums lie at the beginning of what was the input.
    parts.check = [&](std::uint32_t round) {
      verify(job, rank, round, std::span(self.input).first(job.elements));
    };
  }
  const Report report = time_collective(job, parts, seconds);
  if (rank == 0) common.microseconds = report.value;
}

Report run(std::string_view name, const Options& options) {
  const auto job = CollectiveJob::parse(name);
  char folder[] = "/tmp/bench_gloo.XXXXXX";
  if (mkdtemp(folder) == nullptr) fail_errno("mkdtemp");
  const Shared<Common> common;
  {
    std::vector<std::unique_ptr<Process>> ranks;
    for (int rank = 0; rank < job->ranks; ++rank) {
      ranks.push_back(std::make_unique<Process>(
          [&, rank] { run_rank(*job, rank, folder, options.seconds, *common); }));
    }
  }
  std::filesystem::remove_all(folder);
  return {common->microseconds, "us", true, {}};
}

}  // namespace
}  // namespace muster::bench::gloo_peer

int main(int argc, char** argv) {
  using namespace muster::bench;
  return run_program(argc, argv, {}, collective_family(gloo_peer::run, false));
}
