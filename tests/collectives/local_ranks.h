// LocalRanks: a communicator whose ranks are threads of this process, each with a loop of its own.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "muster/collectives/communicator.h"
#include "muster/loop/loop.h"
#include "muster/msg/testing/fake_registry.h"
#include "muster/net/driver.h"

namespace muster::tests {

using namespace collectives;  // NOLINT(google-build-using-namespace): a test of it alone.

// How ranks reach each other.
enum class Way : std::uint8_t { inproc, shm, tcp, staged };
std::string name(Way way);

class LocalRanks {
 public:
  using Tweak = std::function<void(CommunicatorOptions&)>;
  LocalRanks(Way way, Rank size, const Tweak& tweak = {});
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  Rank size() const { return static_cast<Rank>(ranks_.size()); }
  Communicator& operator[](Rank rank) { return *ranks_[rank]; }
  std::unique_ptr<Communicator>& at(Rank rank) { return ranks_[rank]; }

  // Options for a rank of the same name: a newcomer.
  CommunicatorOptions options(Rank size, Rank rank);
  loop::Loop& loop() { return *loop_; }
  // Memory of the driver, of which no communicator knows.
  Result<WritableBuffer> allocate(std::size_t bytes);

  // Runs `body` for every rank at once, each on a thread of its own.
  void run(const std::function<void(Rank, Communicator&)>& body);

 private:
  std::unique_ptr<loop::Loop> loop_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::unique_ptr<msg::testing::FakeRegistry> registry_;
  Tweak tweak_;
  std::vector<std::unique_ptr<Communicator>> ranks_;
};

}  // namespace muster::tests
