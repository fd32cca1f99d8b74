// Proximal policy optimisation: roll a policy out, then improve it a little.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "examples/cartpole/cart_pole.h"
#include "examples/cartpole/network.h"

namespace cartpole {

using Actor = Network<2>;
using Critic = Network<1>;
using Weights = std::vector<float>;  // The actor's, then the critic's.

inline constexpr float kDiscount = 0.98F, kGae = 0.8F, kClip = 0.2F, kRate = 1e-3F;
inline constexpr std::size_t kEpochs = 10, kMinibatch = 256;

inline std::span<const float> actor(const Weights& weights) {
  return std::span(weights).first(Actor::kSize);
}
inline std::span<const float> critic(const Weights& weights) {
  return std::span(weights).subspan(Actor::kSize);
}
inline float value(const Weights& weights, const State& state) {
  return Critic::forward(critic(weights), state).output[0];
}

inline Weights new_weights(Random& random) {
  Weights weights(Actor::kSize + Critic::kSize);
  Actor::start(std::span(weights).first(Actor::kSize), 0.01F, random);
  Critic::start(std::span(weights).subspan(Actor::kSize), 1, random);
  return weights;
}

struct Step {  // As it travels: eight floats.
  State state;
  float action, probability, advantage, value;
};

struct Rollout {
  std::vector<Step> steps;
  std::vector<float> episodes;  // The rewards of those that ended.
};

// The probability of pushing right.
inline float push_right(const Actor::Output& logits) {
  return 1 / (1 + std::exp(logits[0] - logits[1]));
}

// Plays `count` steps. Advantages are estimated from the end on (GAE).
inline void play(const Weights& weights, CartPole& pole, std::size_t count, Random& random,
                 Rollout& rollout) {
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<Step> steps;
  std::vector<float> ahead(count);  // What the state after a step is worth.
  std::vector<bool> is_over(count);
  for (std::size_t t = 0; t < count; ++t) {
    const float right = push_right(Actor::forward(actor(weights), pole.state).output);
    const bool pushes = unit(random) < right;
    steps.push_back({.state = pole.state,
                     .action = pushes ? 1.0F : 0.0F,
                     .probability = pushes ? right : 1 - right,
                     .advantage = 0,
                     .value = value(weights, pole.state)});
    pole.step(pushes);
    is_over[t] = pole.fell() || pole.timed_out();
    ahead[t] = pole.fell() ? 0 : value(weights, pole.state);
    if (is_over[t]) {
      rollout.episodes.push_back(static_cast<float>(pole.steps));
      pole.start(random);
    }
  }
  float later = 0;
  for (std::size_t t = count; t-- > 0;) {
    const float surprise = 1 + kDiscount * ahead[t] - steps[t].value;
    later = surprise + (is_over[t] ? 0 : kDiscount * kGae * later);
    steps[t].advantage = later;
  }
  rollout.steps.insert(rollout.steps.end(), steps.begin(), steps.end());
}

// Adds one step's share of the gradient: of the clipped objective, and of the
// critic's squared error.
inline void add_gradient(const Weights& weights, const Step& step, float share,
                         std::span<float> gradient) {
  const Actor::Pass pass = Actor::forward(actor(weights), step.state);
  const float right = push_right(pass.output);
  const float ratio = (step.action > 0 ? right : 1 - right) / step.probability;
  const bool is_clipped = step.advantage > 0 ? ratio > 1 + kClip : ratio < 1 - kClip;
  const float pull = is_clipped ? 0 : step.advantage * ratio * share;
  const float error = pull * (right - step.action);
  Actor::backward(actor(weights), step.state, pass, {-error, error}, gradient.first(Actor::kSize));
  const Critic::Pass guess = Critic::forward(critic(weights), step.state);
  const float target = step.value;  // The learner has made it the return.
  Critic::backward(critic(weights), step.state, guess, {(guess.output[0] - target) * share},
                   gradient.subspan(Actor::kSize));
}

// Steps along a gradient, each weight at a pace of its own.
class Adam {
 public:
  explicit Adam(std::size_t size) : mean_(size), square_(size) {}

  void step(Weights& weights, std::span<const float> gradient) {
    const float length =
        std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0F));
    const float scale = std::min(1.0F, 0.5F / (length + 1e-6F));
    const auto steps = static_cast<float>(++steps_);
    const float rate = kRate / (1 - std::pow(0.9F, steps));
    const float bias = 1 - std::pow(0.999F, steps);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float slope = gradient[i] * scale;
      mean_[i] += 0.1F * (slope - mean_[i]);
      square_[i] += 0.001F * (slope * slope - square_[i]);
      weights[i] -= rate * mean_[i] / (std::sqrt(square_[i] / bias) + 1e-5F);
    }
  }

 private:
  std::vector<float> mean_, square_;
  int steps_ = 0;
};

// One update of `weights` from these steps.
inline void improve(Weights& weights, Adam& adam, std::vector<Step>& steps, Random& random) {
  const auto count = static_cast<float>(steps.size());
  float mean = 0, square = 0;
  for (const Step& step : steps) mean += step.advantage / count;
  for (const Step& step : steps) square += (step.advantage - mean) * (step.advantage - mean);
  const float deviation = std::sqrt(square / count) + 1e-8F;
  for (Step& step : steps) {
    step.value += step.advantage;
    step.advantage = (step.advantage - mean) / deviation;
  }
  std::vector<float> gradient(weights.size());
  for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
    std::shuffle(steps.begin(), steps.end(), random);
    for (std::size_t at = 0; at < steps.size(); at += kMinibatch) {
      const auto batch = std::span(steps).subspan(at, std::min(kMinibatch, steps.size() - at));
      std::fill(gradient.begin(), gradient.end(), 0.0F);
      for (const Step& step : batch) {
        add_gradient(weights, step, 1 / static_cast<float>(batch.size()), gradient);
      }
      adam.step(weights, gradient);
    }
  }
}

}  // namespace cartpole
