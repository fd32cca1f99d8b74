#include "tests/collectives/local_ranks.h"

#include "muster/base/check.h"
#include "muster/drivers/inproc/inproc.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"

namespace muster::tests {
namespace {

std::unique_ptr<net::Driver> make_driver(Way way, loop::Loop& loop) {
  switch (way) {
    case Way::inproc: return drivers::make_inproc_driver(loop);
    case Way::tcp: return drivers::make_tcp_driver(loop);
    default: break;
  }
  auto driver = drivers::make_shm_driver(loop);
  MUSTER_CHECK(driver.has_value(), "this machine has shared memory");
  return *std::move(driver);
}

}  // namespace

std::string name(Way way) {
  switch (way) {
    case Way::inproc: return "inproc";
    case Way::shm: return "shm";
    case Way::tcp: return "tcp";
    case Way::staged: return "staged";
  }
  return "";
}

LocalRanks::LocalRanks(Way way, Rank size, const Tweak& tweak) : tweak_(tweak), ranks_(size) {
  auto loop = loop::Loop::make();
  MUSTER_CHECK(loop.has_value(), "a test has descriptors left for a loop");
  loop_ = *std::move(loop);
  {
    const loop::Turn turn(*loop_);
    drivers_.push_back(make_driver(way, *loop_));
    registry_ = std::make_unique<msg::testing::FakeRegistry>(*loop_);
  }
  if (way == Way::staged) {
    tweak_ = [tweak](CommunicatorOptions& options) {
      options.use_process_vm = false;
      if (tweak) tweak(options);
    };
  }
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([this, rank, size] {
      auto joined = Communicator::join(*loop_, options(size, rank), std::chrono::seconds(60));
      MUSTER_CHECK(joined.has_value(), joined ? "" : joined.error().message());
      ranks_[rank] = *std::move(joined);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

LocalRanks::~LocalRanks() {
  ranks_.clear();
  const loop::Turn turn(*loop_);
  registry_.reset();
  drivers_.clear();
}

Result<WritableBuffer> LocalRanks::allocate(std::size_t bytes) {
  const loop::Turn turn(*loop_);
  return drivers_.front()->allocate(bytes);
}

CommunicatorOptions LocalRanks::options(Rank size, Rank rank) {
  CommunicatorOptions options;
  options.name = "local";
  options.size = size;
  options.rank = rank;
  options.registry = registry_.get();
  for (const auto& driver : drivers_) options.drivers.push_back(driver.get());
  options.token.assign(32, std::byte{7});
  options.manners.deadline = std::chrono::seconds(20);  // What hangs fails.
  if (tweak_) tweak_(options);
  return options;
}

void LocalRanks::run(const std::function<void(Rank, Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (ranks_[rank] == nullptr) continue;
    threads.emplace_back([this, &body, rank] { body(rank, *ranks_[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace muster::tests
