// A small neural network over weights that somebody else owns.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "examples/cartpole/cart_pole.h"

namespace cartpole {

template <std::size_t Outputs>
struct Network {
  static constexpr std::size_t kHidden = 32;
  static constexpr std::size_t kSize =
      5 * kHidden + (kHidden + 1) * kHidden + (kHidden + 1) * Outputs;

  using Hidden = std::array<float, kHidden>;
  using Output = std::array<float, Outputs>;
  struct Pass {  // What each layer gave, for backward().
    Hidden first{}, second{};
    Output output{};
  };

  static void start(std::span<float> weights, float last_scale, Random& random) {
    std::size_t at = 0;
    const auto layer = [&](std::size_t inputs, std::size_t outputs, float scale) {
      std::normal_distribution<float> normal(0, scale / std::sqrt(static_cast<float>(inputs)));
      for (std::size_t i = 0; i < inputs * outputs; ++i) weights[at++] = normal(random);
      for (std::size_t i = 0; i < outputs; ++i) weights[at++] = 0;
    };
    layer(4, kHidden, 1.4F);
    layer(kHidden, kHidden, 1.4F);
    layer(kHidden, Outputs, last_scale);
  }

  static Pass forward(std::span<const float> weights, const State& state) {
    Pass pass;
    const float* at = multiply(weights.data(), state, pass.first);
    for (float& one : pass.first) one = std::tanh(one);
    at = multiply(at, pass.first, pass.second);
    for (float& one : pass.second) one = std::tanh(one);
    multiply(at, pass.second, pass.output);
    return pass;
  }

  // Adds to `gradient` how the loss changes with the weights, from how it
  // changes with the output.
  static void backward(std::span<const float> weights, const State& state, const Pass& pass,
                       const Output& error, std::span<float> gradient) {
    constexpr std::size_t kSecond = 5 * kHidden, kThird = kSecond + (kHidden + 1) * kHidden;
    Hidden second{}, first{};
    State unused{};
    back(&weights[kThird], pass.second, error, &gradient[kThird], second);
    for (std::size_t i = 0; i < kHidden; ++i) second[i] *= 1 - pass.second[i] * pass.second[i];
    back(&weights[kSecond], pass.first, second, &gradient[kSecond], first);
    for (std::size_t i = 0; i < kHidden; ++i) first[i] *= 1 - pass.first[i] * pass.first[i];
    back(weights.data(), state, first, gradient.data(), unused);
  }

 private:
  // A layer lies as a row per input, then the bias. Returns where the next begins.
  template <std::size_t I, std::size_t O>
  static const float* multiply(const float* weights, const std::array<float, I>& inputs,
                               std::array<float, O>& outputs) {
    for (std::size_t o = 0; o < O; ++o) outputs[o] = weights[I * O + o];
    for (std::size_t i = 0; i < I; ++i) {
      for (std::size_t o = 0; o < O; ++o) outputs[o] += inputs[i] * weights[i * O + o];
    }
    return weights + (I + 1) * O;
  }

  template <std::size_t I, std::size_t O>
  static void back(const float* weights, const std::array<float, I>& inputs,
                   const std::array<float, O>& error, float* gradient,
                   std::array<float, I>& input_error) {
    for (std::size_t i = 0; i < I; ++i) {
      for (std::size_t o = 0; o < O; ++o) {
        gradient[i * O + o] += inputs[i] * error[o];
        input_error[i] += weights[i * O + o] * error[o];
      }
    }
    for (std::size_t o = 0; o < O; ++o) gradient[I * O + o] += error[o];
  }
};

}  // namespace cartpole
