// A learner hands out a policy and learns as soon as 80% of its workers have
// sent what came of it: a worker that is stuck holds nobody up.
// Run it as learner and worker_1 to worker_5 in six terminals, or without arguments.
#include <chrono>
#include <cstdio>

#include "examples/roles.h"
#include "muster/msg/component.h"
#include "muster/runtime/runtime.h"

using namespace muster;
using namespace muster::msg;
using namespace std::chrono_literals;

struct Learner {
  double policy = 0;
  int updates = 0;
};

void tell(Proxy& proxy, const char* type, const char* tag, double body = 0) {
  Draft draft{.tag = tag, .body = body, .session_type = SessionType::notification};
  static_cast<void>(proxy.ibroadcast(Audience::type(type), draft));
}

Status learn(Proxy& proxy) {
  Component<Learner> learner(proxy);
  learner.on("worker:rollout:80%", [&](Learner& local, Proxy&, const auto& rollouts) {
    for (const Message& one : rollouts) local.policy += one.body().as_real().value_or(0);
    std::printf("update %d from %zu rollouts\n", ++local.updates, rollouts.size());
    local.updates < 3 ? tell(proxy, "worker", "policy", local.policy) : learner.stop();
  });
  tell(proxy, "worker", "policy", learner->policy);
  Status ended = learner.launch(60s);
  std::printf("the policy is %.1f\n", learner->policy);
  tell(proxy, "worker", "stop");
  return ended;
}

Status work(Proxy& proxy) {
  Component<double> game(proxy, {}, 0.5);  // The reward.
  game.on("learner:policy:1", [&](double& reward, Proxy&, const auto&) {
    if (proxy.name() == "worker_5") return;  // It is stuck.
    tell(proxy, "learner", "rollout", reward);
  });
  game.on("learner:stop:1", [&](double&, Proxy&, const auto&) { game.stop(); });
  return game.launch(60s);
}

Status run(const std::string& name) {
  const bool is_learner = name == "learner";
  MUSTER_TRY(const auto runtime, Runtime::make());
  ProxyOptions options{.group = "rollout", .type = is_learner ? "learner" : "worker", .name = name};
  options.expected = {is_learner ? Expected{"worker", 5} : Expected{"learner"}};
  MUSTER_TRY(const auto proxy, runtime->join(options, 30s));
  MUSTER_TRY_OK(is_learner ? learn(*proxy) : work(*proxy));
  return proxy->leave(10s);
}

int main(int argc, char** argv) { return run_roles(argc, argv, "learner", 5, run); }
