#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/common/collective.h"

namespace muster::bench::gloo_peer {

// One rank, connected to all others by the time it is made.
class Rank {
 public:
  Rank(const CollectiveJob& job, int rank, const std::string& folder);
  ~Rank();

  void operate();
  void barrier();

  std::vector<float> input;
  std::vector<float> result;

 private:
  struct Self;
  CollectiveJob job_;
  int rank_;
  std::unique_ptr<Self> self_;
};

}  // namespace muster::bench::gloo_peer
