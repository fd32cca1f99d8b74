// A cart on a rail that must keep its pole upright: CartPole-v1, with the
// equations of Barto, Sutton and Anderson (1983).
#pragma once

#include <array>
#include <cmath>
#include <random>

namespace cartpole {

using Random = std::mt19937;
using State = std::array<float, 4>;  // Place and speed of the cart, angle and turn of the pole.

inline constexpr int kLongest = 500;

struct CartPole {
  explicit CartPole(Random& random) { start(random); }

  void start(Random& random) {
    std::uniform_real_distribution<float> little(-0.05F, 0.05F);
    for (float& one : state) one = little(random);
    steps = 0;
  }

  void step(bool pushes_right) {
    constexpr float kGravity = 9.8F, kPole = 0.1F, kTotal = 1.1F, kHalf = 0.5F, kSeconds = 0.02F;
    const auto [place, speed, angle, turn] = state;
    const float sine = std::sin(angle), cosine = std::cos(angle);
    const float force = pushes_right ? 10.0F : -10.0F;
    const float common = (force + kPole * kHalf * turn * turn * sine) / kTotal;
    const float turning = (kGravity * sine - cosine * common) /
                          (kHalf * (4.0F / 3.0F - kPole * cosine * cosine / kTotal));
    const float pushing = common - kPole * kHalf * turning * cosine / kTotal;
    state = {place + kSeconds * speed, speed + kSeconds * pushing, angle + kSeconds * turn,
             turn + kSeconds * turning};
    ++steps;
  }

  bool fell() const { return std::abs(state[0]) > 2.4F || std::abs(state[2]) > 0.20943951F; }
  bool timed_out() const { return steps >= kLongest; }

  State state{};
  int steps = 0;
};

}  // namespace cartpole
