// Adders: ranks as processes that add up powers of two, round after round, and report to the test.
//
// Whatever they return must be the whole sum: a sum over some is never seen. Elastic: over those
// who are said to have contributed, who are the same on all ranks, also on those that then died.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muster/collectives/communicator.h"
#include "muster/net/testing/child_process.h"
#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::tests {

using namespace collectives;  // NOLINT(google-build-using-namespace): a test of it alone.

// What a rank needs, in a process of its own.
struct Rig {
  std::unique_ptr<loop::Loop> loop;
  std::vector<std::unique_ptr<net::Driver>> drivers;
  std::unique_ptr<msg::Registry> registry;
  std::vector<std::string> listen;

  // shm, tcp; or both, with `address` for other hosts.
  Rig(const std::string& folder, const std::string& way, const std::string& address = "");
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  CommunicatorOptions options(Rank size, Rank rank) const;
};

// This process goes to the network namespace `name`, before it has another thread.
void enter_space(const std::string& name);

// How a crowd of them is made.
struct CrowdOptions {
  Rank size = 4;
  std::string way = "shm";
  std::size_t count = 1;
  // strict; elastic; watchful: strict, and tells whom it waits for.
  std::string manner = "strict";
  // Rank r reports after so many sums, if not 0.
  std::vector<std::uint64_t> report_after = {};
  // So many will be lost, at the least.
  Rank deaths = 1;
  // way "hosts": where each rank runs, and its address there.
  std::vector<std::string> spaces = {};
  std::vector<std::string> addresses = {};
};

class Crowd {
 public:
  // All have joined.
  explicit Crowd(const CrowdOptions& options);

  // The next line that rank has said, but for whom it waits for.
  std::string line(Rank rank);
  // Until it has made as many sums as it was to.
  void await_report(Rank rank);
  // Until it says that it waits for somebody.
  void await_stuck(Rank rank);
  net::testing::ChildProcess& operator[](Rank rank) { return *ranks_[rank]; }
  // It gives back what it holds, and ends. Elastic: what it has had, others have had so, too.
  void finish(Rank rank);

 private:
  void expect_same_history(Rank rank) const;

  const bool is_elastic_;
  registries::embedded::TestFolder folder_;
  std::vector<std::unique_ptr<net::testing::ChildProcess>> ranks_;
};

// Of any kind; or elastic, and of few numbers that go through one rank.
enum class Rounds : std::uint8_t { any, elastic_over_links };

// One crowd of 4 to 8, of which one or two die or stand still at a moment that
// comes from the seed; and what must hold of the others.
void play_round(unsigned seed, Rounds kind = Rounds::any);

}  // namespace muster::tests
