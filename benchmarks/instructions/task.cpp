#include "benchmarks/instructions/task.h"

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/common/fail.h"
#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"

namespace muster::bench {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().describe());
  return *std::move(result);
}

// A registry that introduces all who have joined, once, when it is told to.
class Roster final : public msg::Registry {
 public:
  Result<std::unique_ptr<msg::Membership>> join(const msg::JoinRequest& request,
                                                msg::RegistrySink& sink) override {
    seats_.push_back({request.self, &sink});
    seats_.back().self.incarnation = 1;
    return std::unique_ptr<msg::Membership>(std::make_unique<Seat>());
  }
  Result<std::unique_ptr<msg::Inquiry>> ask(const std::string&, OnRoll) override {
    return Error(Code::unsupported, "nobody asks");
  }
  void introduce_all() {
    for (const Joined& one : seats_) {
      for (const Joined& other : seats_) {
        if (other.sink != one.sink) one.sink->on_joined(other.self);
      }
      one.sink->on_admitted(one.self);
    }
  }

 private:
  struct Seat final : msg::Membership {
    void leave() override {}
    void remind(const msg::Member&) override {}
  };
  struct Joined {
    msg::Member self;
    msg::RegistrySink* sink;
  };
  std::vector<Joined> seats_;
};

void go_round(loop::Loop& loop) {
  const loop::Turn turn(loop);
  loop.run_ready();
}

[[gnu::noinline]] void exchange(loop::Loop& loop, msg::Proxy& master, msg::Proxy& worker,
                                std::size_t count) {
  const msg::PeerId to = must(master.find("worker"));
  const Buffer body =
      Buffer::copy_of("sixty-four bytes, as a small message of an actor may have them..");
  for (std::size_t i = 0; i < count; ++i) {
    const msg::SessionId id = must(master.isend({.tag = "task", .destination = to, .body = body}));
    while (worker.counters().waiting == 0) go_round(loop);
    const auto task = must(worker.receive_once(Duration::zero()));
    must(worker.reply(*task, task->body()));
    while (!master.is_answered(id)) go_round(loop);
    if (!must(master.receive_by_id({id}, Duration::zero())).is_complete()) fail("no reply");
  }
}

}  // namespace

void run_tasks(std::size_t count) {
  unsetenv("MUSTER_TRACE");
  const auto loop = must(loop::Loop::make({.keeper = false}));
  Roster roster;
  auto driver = [&] {
    const loop::Turn turn(*loop);
    return drivers::make_inproc_driver(*loop);
  }();
  msg::ProxyOptions options{.group = "bench", .type = "worker", .name = "worker"};
  options.registry = &roster;
  options.drivers = {driver.get()};
  options.token.assign(32, std::byte{1});
  auto worker = must(msg::Proxy::start(*loop, options));
  options.type = options.name = "master";
  auto master = must(msg::Proxy::start(*loop, options));
  {
    const loop::Turn turn(*loop);
    roster.introduce_all();
  }
  while (!master->has_peers({{.name = "worker"}}) || !worker->has_peers({{.name = "master"}})) {
    go_round(*loop);
  }
  exchange(*loop, *master, *worker, count);
  master.reset();
  worker.reset();
  const loop::Turn turn(*loop);
  driver.reset();
}

}  // namespace muster::bench
