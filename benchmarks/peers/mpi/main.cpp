// bench_mpi: Open MPI's collectives. Started as the harness starts it, it starts
// itself under mpirun, once as it is by default and once with ranks that yield
// while they wait, and prints the better.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmarks/common/fail.h"
#include "benchmarks/common/program.h"
#include "benchmarks/peers/mpi/rank.h"

namespace muster::bench::mpi {
namespace {

// What the command prints.
std::string output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  check_call(pipe2(ends.data(), O_CLOEXEC), "pipe");
  const pid_t child = check_call(fork(), "fork");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  check_call(waitpid(child, &status, 0), "waitpid");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("mpirun failed: " + text);
  return text;
}

std::vector<std::string> command(std::string_view name, const CollectiveJob& job, double seconds,
                                 bool yields) {
  std::vector<std::string> words{
      "mpirun",    "-q",   "-n",    std::to_string(job.ranks), "--oversubscribe",
      "--bind-to", "none", "--mca", "mpi_yield_when_idle",     yields ? "1" : "0"};
  if (job.is_tcp) {
    for (const char* word :
         {"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"}) {
      words.emplace_back(word);
    }
  }
  for (const std::string& word : {std::string("/proc/self/exe"), std::string(name),
                                  std::string("--seconds"), std::to_string(seconds)}) {
    words.push_back(word);
  }
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  check_call(size, "readlink");
  words[words.size() - 4] = path.data();
  return words;
}

double figure_of(const std::string& text) {
  const char* const at = std::strstr(text.c_str(), "value ");
  if (at == nullptr) fail("mpirun printed no figure: " + text);
  return std::strtod(at + 6, nullptr);
}

Report run(std::string_view name, const Options& options) {
  const auto job = CollectiveJob::parse(name);
  // Its own refusal to run as root would be one to run in a container.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const double seconds = options.seconds / 2;
  const double spinning = figure_of(output_of(command(name, *job, seconds, false)));
  const double yielding = figure_of(output_of(command(name, *job, seconds, true)));
  return {
      std::min(spinning, yielding), "us", true, {{"default", spinning}, {"yielding", yielding}}};
}

}  // namespace
}  // namespace muster::bench::mpi

int main(int argc, char** argv) {
  using namespace muster::bench;
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr && argc == 4) {
    return mpi::run_rank(argv[1], std::strtod(argv[3], nullptr));
  }
  return run_program(argc, argv, {}, collective_family(mpi::run, false));
}
