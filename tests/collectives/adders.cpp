#include "tests/collectives/adders.h"

#include <chrono>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/base/log.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/net/testing/leaks.h"
#include "muster/registries/embedded/embedded.h"
#include "tests/collectives/history.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;
using net::testing::ChildProcess;

const std::vector<std::byte> kToken(32, std::byte{7});

std::unique_ptr<net::Driver> make_tcp(loop::Loop& loop) {
  auto tokens = net::make_fixed_tokens({net::Token{.generation = 1, .secret = kToken}});
  MUSTER_CHECK(tokens.has_value(), "the token is long enough");
  drivers::TcpOptions options;
  options.tls.tokens = *tokens;
  return drivers::make_tcp_driver(loop, options);
}

// So that a sum tells whose numbers are in.
float power_of(Rank rank) { return static_cast<float>(1U << rank); }

float expected_of(const Outcome& done, Rank size) {
  if (!done.contributors) return power_of(size) - 1;
  float sum = 0;
  for (const Rank one : *done.contributors) sum += power_of(one);
  return sum;
}

using After = std::function<void(std::uint64_t, const Outcome&)>;

// Adds powers of two, `count` numbers at once, until it fails; the error, or what was wrong.
std::string add_until_failure(Communicator& all, std::size_t count, std::uint64_t limit,
                              const After& after = {}) {
  for (std::uint64_t round = 1; round <= limit; ++round) {
    std::vector<float> numbers(count, power_of(all.rank()));
    const auto done = all.all_reduce(numbers, numbers, Reduction::sum);
    if (!done) return std::string(name(done.error().code())) + " " + done.error().message();
    const float expected = expected_of(*done, all.size());
    for (const float sum : numbers) {
      if (sum != expected) return "WRONG " + std::to_string(sum);
    }
    if (after) after(round, *done);
  }
  return "done";
}

// One rank's life, in a process of its own.
struct Adder {
  net::testing::Parent& parent;
  const std::vector<std::string>& given = parent.arguments;
  const Rank size = static_cast<Rank>(std::stoul(given[2]));
  const Rank rank = static_cast<Rank>(std::stoul(given[3]));
  const std::size_t count = std::stoul(given[4]);
  const std::string& manner = given[5];
  const std::uint64_t report_after = std::stoul(given[6]);
  const Rank deaths = static_cast<Rank>(std::stoul(given[9]));

  int live() {
    const Rig rig(given[0], given[1], given[8]);
    CommunicatorOptions options = rig.options(size, rank);
    options.manners.elastic = manner == "elastic";
    if (manner == "watchful") options.manners.patience = 200ms;
    auto all = Communicator::join(*rig.loop, options, 60s);
    if (!all) return 3;
    parent.pipe.write_line("joined");
    const bool is_elastic = options.manners.elastic;
    History history(given[0], rank);
    const auto report = [&](std::uint64_t round, const Outcome& done) {
      if (is_elastic) history.note(done);
      if (round == report_after) parent.pipe.write_line("reports");
    };
    parent.pipe.write_line(add_until_failure(
        **all, count, is_elastic ? (count > 5000 ? 60 : 1000) : UINT64_MAX, report));
    if (!is_elastic && !go_on_without(**all)) return 5;
    return parent.pipe.read_line() ? 0 : 4;  // Until the test has seen it all.
  }

  // Who is yet to die may be there still when the others have shrunk.
  bool go_on_without(Communicator& all) const {
    auto left = all.shrink(50s);
    while (left && (*left)->size() > size - deaths) {
      const std::string end = add_until_failure(**left, count, UINT64_MAX);
      if (!end.starts_with(name(Code::unavailable))) {
        parent.pipe.write_line(end);
        return false;
      }
      left = (*left)->shrink(50s);
    }
    if (!left) {
      parent.pipe.write_line("shrink: " + left.error().describe());
      return false;
    }
    parent.pipe.write_line("left " + std::to_string((*left)->size()) + " " +
                           add_until_failure(**left, count, 20));
    return true;
  }
};

// folder, way, size, rank, count, manner, sums until it reports, namespace, address, deaths
MUSTER_ROLE(adder) {
  const std::vector<std::string>& given = parent.arguments;
  if (!given[7].empty()) enter_space(given[7]);
  if (given[5] == "watchful") {
    log::to(log::Level::warning, [&](log::Level, std::string_view text) {
      if (text.starts_with("operation stuck")) parent.pipe.write_line(text);
    });
  }
  const auto before = net::testing::look_at_holdings();
  const int code = Adder{parent}.live();
  const std::string leaked = net::testing::leaked(before, net::testing::look_at_holdings());
  parent.pipe.write_line(leaked.empty() ? "clean" : "leaked " + leaked);
  return code;
}

}  // namespace

void enter_space(const std::string& name) {
  const int space = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  MUSTER_CHECK(space >= 0 && setns(space, CLONE_NEWNET) == 0, "the test has made the namespace");
  close(space);
}

Rig::Rig(const std::string& folder, const std::string& way, const std::string& address)
    : loop(*loop::Loop::make()) {
  const loop::Turn turn(*loop);
  if (way != "tcp") drivers.push_back(*drivers::make_shm_driver(*loop));
  if (way != "shm") drivers.push_back(make_tcp(*loop));
  registry = registries::make_embedded_registry(*loop, {.folder = folder});
  if (!address.empty()) listen = {"shm://*", "tcp://" + address + ":0"};
}

Rig::~Rig() {
  const loop::Turn turn(*loop);
  registry.reset();
  drivers.clear();
}

CommunicatorOptions Rig::options(Rank size, Rank rank) const {
  CommunicatorOptions made;
  made.name = "adders";
  made.size = size;
  made.rank = rank;
  made.registry = registry.get();
  for (const auto& driver : drivers) made.drivers.push_back(driver.get());
  made.token = kToken;
  made.listen = listen;
  made.manners.deadline = 50s;  // What hangs fails.
  return made;
}

Crowd::Crowd(const CrowdOptions& options) : is_elastic_(options.manner == "elastic") {
  const auto nth = [](const std::vector<std::string>& all, Rank rank) {
    return rank < all.size() ? all[rank] : "";
  };
  for (Rank rank = 0; rank < options.size; ++rank) {
    const std::uint64_t after = rank < options.report_after.size() ? options.report_after[rank] : 0;
    auto child = ChildProcess::start(
        "adder",
        {folder_.path(), options.way, std::to_string(options.size), std::to_string(rank),
         std::to_string(options.count), options.manner, std::to_string(after),
         nth(options.spaces, rank), nth(options.addresses, rank), std::to_string(options.deaths)});
    EXPECT_TRUE(child);
    ranks_.push_back(*std::move(child));
  }
  for (Rank rank = 0; rank < options.size; ++rank) EXPECT_EQ(line(rank), "joined");
}

std::string Crowd::line(Rank rank) {
  for (;;) {
    auto read = ranks_[rank]->pipe().read_line();
    if (!read) return "nothing: " + read.error().describe();
    if (!read->starts_with("operation stuck")) return *read;
  }
}

void Crowd::await_report(Rank rank) { EXPECT_EQ(line(rank), "reports"); }

void Crowd::await_stuck(Rank rank) {
  const auto read = ranks_[rank]->pipe().read_line();
  EXPECT_TRUE(read && read->starts_with("operation stuck")) << (read ? *read : "nothing");
}

void Crowd::expect_same_history(Rank rank) const {
  const auto own = History::of(folder_.path(), rank);
  EXPECT_FALSE(own.empty()) << "rank " << rank;
  for (Rank other = 0; other < ranks_.size(); ++other) {
    for (const auto& [number, contributors] : History::of(folder_.path(), other)) {
      const auto found = own.find(number);
      if (found == own.end()) continue;
      EXPECT_EQ(found->second, contributors)
          << "ranks " << rank << " and " << other << ", operation " << number;
    }
  }
}

void Crowd::finish(Rank rank) {
  if (is_elastic_) expect_same_history(rank);
  ranks_[rank]->pipe().write_line("go");
  EXPECT_EQ(line(rank), "clean");
  EXPECT_EQ(*ranks_[rank]->wait(), 0);
}

}  // namespace muster::tests
