// Data-parallel training: each rank learns from its own data, and all average
// their gradients. Run it as `allreduce RANK SIZE` in several terminals, or
// without arguments for four ranks at once.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "muster/runtime/runtime.h"

using namespace muster;
using namespace muster::collectives;
using namespace std::chrono_literals;

// Fits y = w * x + b to the points of this rank, which lie on y = 2 * x + 1.
Status train(Rank rank, Rank size) {
  MUSTER_TRY(const auto runtime, Runtime::make());
  MUSTER_TRY(const auto all,
             runtime->communicator({.name = "train", .size = size, .rank = rank}, 30s));
  std::vector<float> weights{0, 0};
  for (int step = 0; step < 400; ++step) {
    std::vector<float> gradient{0, 0};
    for (int point = 0; point < 8; ++point) {
      const float x = static_cast<float>(point * static_cast<int>(size) + static_cast<int>(rank)) /
                      (8.0F * static_cast<float>(size));
      const float error = weights[0] * x + weights[1] - (2 * x + 1);
      gradient[0] += error * x / 4;
      gradient[1] += error / 4;
    }
    // The same on every rank from here on, to the last bit.
    MUSTER_TRY_OK(all->all_reduce(gradient, gradient, Reduction::mean));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.5F * gradient[i];
  }
  if (rank == 0) std::printf("y = %.2f * x + %.2f\n", weights[0], weights[1]);
  MUSTER_TRY_OK(all->barrier());
  return ok();
}

int run(Rank rank, Rank size) {
  const Status done = train(rank, size);
  if (!done) std::fprintf(stderr, "rank %u: %s\n", rank, done.error().describe().c_str());
  return done ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 3) return run(static_cast<Rank>(std::atoi(argv[1])), std::atoi(argv[2]));
  for (Rank rank = 0; rank < 4; ++rank) {
    if (fork() == 0) return run(rank, 4);
  }
  int status = 0;
  bool is_well = true;
  while (wait(&status) > 0) is_well = is_well && status == 0;
  return is_well ? 0 : 1;
}
