// A learner trains a policy for CartPole with rollouts of five workers, as soon
// as 60% of those who live have sent one; see cartpole_events.py for its twin.
// Run it as learner and worker_1 to worker_5 in six terminals, or without arguments.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>
#include <random>

#include "examples/cartpole/ppo.h"
#include "examples/roles.h"
#include "muster/msg/component.h"
#include "muster/runtime/runtime.h"

using namespace cartpole;
using namespace muster;
using namespace muster::msg;
using namespace std::chrono_literals;
using wire::Value;

constexpr std::size_t kPoles = 16, kSteps = 32, kRow = sizeof(Step) / sizeof(float);

template <class T>
Value tensor(const std::vector<T>& items, std::vector<std::uint64_t> shape) {
  return wire::Tensor{wire::DType::f32, std::move(shape),
                      Buffer::copy_of(std::as_bytes(std::span(items)))};
}

// Bytes from elsewhere: what is no such tensor is empty.
template <class T>
std::vector<T> items(const Value* value) {
  const wire::Tensor* found = value != nullptr ? value->as_tensor() : nullptr;
  if (found == nullptr || found->dtype != wire::DType::f32) return {};
  std::vector<T> copies(found->bytes.size() / sizeof(T));
  if (!copies.empty()) std::memcpy(copies.data(), found->bytes.data(), copies.size() * sizeof(T));
  return copies;
}

void tell(Proxy& proxy, std::string_view name, const char* tag, Value body = {}) {
  static_cast<void>(proxy.isend({.tag = tag,
                                 .destination = name,
                                 .body = std::move(body),
                                 .session_type = SessionType::notification}));
}

struct Learner {
  explicit Learner(float its_goal) : goal(its_goal) {}

  Value policy() const { return tensor(weights, {weights.size()}); }

  void learn(const std::vector<Message>& messages) {
    std::vector<Step> steps;
    for (const Message& message : messages) {
      for (const Step& step : items<Step>(message.body().find("steps"))) steps.push_back(step);
      for (const float one : items<float>(message.body().find("episodes"))) recent.push_back(one);
    }
    while (recent.size() > 100) recent.pop_front();
    improve(weights, adam, steps, random);
    mean = std::accumulate(recent.begin(), recent.end(), 0.0F) / 100;
    if (++updates % 10 == 0) std::printf("update %d: mean reward %.1f\n", updates, mean);
  }

  bool is_done() const { return recent.size() == 100 && mean >= goal; }

  float goal;
  Random random{std::random_device{}()};
  Weights weights = new_weights(random);
  Adam adam{weights.size()};
  std::deque<float> recent;  // The rewards of the last hundred episodes.
  float mean = 0;
  int updates = 0;
};

Status learn(Proxy& proxy) {
  const char* goal = std::getenv("CARTPOLE_GOAL");
  Component<Learner> learner(proxy, {}, goal != nullptr ? std::strtof(goal, nullptr) : 475.0F);
  learner.on("worker:ready:1", [](Learner& local, Proxy& to, const auto& messages) {
    tell(to, messages[0].source(), "policy", local.policy());
  });
  learner.on("worker:rollout:60%", [&](Learner& local, Proxy& to, const auto& messages) {
    local.learn(messages);
    if (local.is_done()) return learner.stop();
    for (const Message& one : messages) tell(to, one.source(), "policy", local.policy());
  });
  Status ended = learner.launch(120s);
  if (learner->is_done()) std::printf("mean reward %.1f reached\n", learner->mean);
  for (const std::string& name : proxy.peer_names("worker")) tell(proxy, name, "stop");
  return ended;
}

struct Worker {
  Worker() {
    for (std::size_t i = 0; i < kPoles; ++i) poles.emplace_back(random);
  }

  Value roll_out(const Weights& weights) {
    Rollout rollout;
    for (CartPole& pole : poles) play(weights, pole, kSteps, random, rollout);
    return Value::Map{{"steps", tensor(rollout.steps, {rollout.steps.size(), kRow})},
                      {"episodes", tensor(rollout.episodes, {rollout.episodes.size()})}};
  }

  Random random{std::random_device{}()};
  std::vector<CartPole> poles;
};

Status work(Proxy& proxy) {
  Component<Worker> worker(proxy);
  worker.on("learner:policy:1", [](Worker& local, Proxy& to, const auto& messages) -> Status {
    const Weights weights = items<float>(&messages[0].body());
    if (weights.size() != Actor::kSize + Critic::kSize) return Error(Code::invalid, "no policy");
    tell(to, messages[0].source(), "rollout", local.roll_out(weights));
    return ok();
  });
  worker.on("learner:stop:1", [&](Worker&, Proxy&, const auto&) { worker.stop(); });
  tell(proxy, "learner", "ready");
  return worker.launch(150s);
}

Status run(const std::string& name) {
  const bool is_learner = name == "learner";
  MUSTER_TRY(const auto runtime, Runtime::make());
  ProxyOptions options{
      .group = "cartpole-cpp", .type = is_learner ? "learner" : "worker", .name = name};
  options.expected = {is_learner ? Expected{"worker", 5} : Expected{"learner"}};
  MUSTER_TRY(const auto proxy, runtime->join(options, 30s));
  MUSTER_TRY_OK(is_learner ? learn(*proxy) : work(*proxy));
  return proxy->leave(10s);
}

int main(int argc, char** argv) { return run_roles(argc, argv, "learner", 5, run); }
