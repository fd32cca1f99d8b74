"""The environment, the networks and the training of examples/cartpole, in one process."""

import numpy as np
import pytest
from cartpole import policy, ppo
from cartpole.cartpole import LONGEST, CartPoles, Floats, after_a_step


def test_a_push_to_the_right_moves_the_cart_right_and_tips_the_pole_left() -> None:
    # By hand: 10 N / 1.1 kg, and the pole's share of it.
    reached = after_a_step(np.zeros((1, 4), np.float32), np.array([True]))
    assert reached[0] == pytest.approx([0, 0.195122, 0, -0.292683], abs=1e-6)


def test_a_mirrored_cart_pole_moves_as_the_mirror_image() -> None:
    state = np.random.default_rng().uniform(-0.2, 0.2, (64, 4)).astype(np.float32)
    pushes = np.random.default_rng().random(64) < 0.5
    assert after_a_step(-state, ~pushes) == pytest.approx(-after_a_step(state, pushes), abs=1e-6)


def test_an_episode_ends_where_the_pole_falls_and_another_begins() -> None:
    poles = CartPoles(8, np.random.default_rng())
    lengths: list[int] = []
    for _ in range(60):
        reached, fell, timed_out, over = poles.step(np.ones(8, np.bool_))
        assert len(over) == fell.sum() and not timed_out.any()
        assert (np.abs(reached[fell, 2]) > 0.2).all()
        assert (np.abs(poles.state[fell]) <= 0.05).all()
        lengths += over
    assert lengths and all(8 <= length <= 12 for length in lengths)


def test_an_episode_ends_after_500_steps() -> None:
    poles = CartPoles(2, np.random.default_rng())
    for step in range(1, LONGEST + 1):
        poles.state[:] = 0
        _, fell, timed_out, lengths = poles.step(np.array([True, False]))
        assert not fell.any()
        assert timed_out.all() == (step == LONGEST)
    assert lengths == [LONGEST, LONGEST]


COLUMNS = ("states", "actions", "log_probabilities", "advantages", "returns")


def a_rollout(weights: Floats, steps: int = 16) -> ppo.Rollout:
    return ppo.roll_out(weights, CartPoles(8, np.random.default_rng()), steps)


def loss(weights: np.ndarray, batch: ppo.Rollout) -> float:
    """As its definition says, in double precision."""
    actor, critic = policy.split(weights)
    logs = policy.log_probabilities(policy.ACTOR.run(actor, batch["states"])[-1])
    ratio = np.exp(logs[np.arange(len(logs)), batch["actions"]] - batch["log_probabilities"])
    clipped = np.clip(ratio, 1 - ppo.CLIP, 1 + ppo.CLIP)
    objective = np.minimum(ratio * batch["advantages"], clipped * batch["advantages"]).mean()
    values = policy.CRITIC.run(critic, batch["states"])[-1][:, 0]
    return float(((values - batch["returns"]) ** 2).mean() / 2 - objective)


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    random = np.random.default_rng()
    weights = policy.new_weights(random)
    batch = a_rollout(weights)
    # Away from where it was rolled out, so that some ratios are clipped.
    exact = weights.astype(np.float64) + random.normal(scale=0.02, size=len(weights))
    gradient = ppo.gradient(exact.astype(np.float32), batch)
    for direction in random.normal(size=(8, len(weights))):
        direction /= np.linalg.norm(direction)
        slope = (
            loss(exact + 1e-5 * direction, batch) - loss(exact - 1e-5 * direction, batch)
        ) / 2e-5
        assert float(gradient @ direction) == pytest.approx(slope, rel=0.02, abs=2e-3)


def test_the_mean_of_the_ranks_gradients_is_the_gradient_of_all_that_they_saw() -> None:
    weights = policy.new_weights(np.random.default_rng())
    parts = [a_rollout(weights) for _ in range(4)]
    everything = ppo.Rollout(
        episodes=[],
        **{key: np.concatenate([part[key] for part in parts]) for key in COLUMNS},  # type: ignore[literal-required, typeddict-item]
    )
    of_each = [ppo.gradient(weights, part) for part in parts]
    assert np.mean(of_each, axis=0) == pytest.approx(ppo.gradient(weights, everything), abs=1e-5)


def test_an_advantage_is_the_discounted_sum_of_surprises_to_the_end_of_the_episode() -> None:
    random = np.random.default_rng()
    rewards = random.random((6, 3)).astype(np.float32)
    values = random.random((7, 3)).astype(np.float32)
    over = random.random((6, 3)) < 0.3
    expected = np.zeros((6, 3))
    for row in range(6):
        for column in range(3):
            weight = 1.0
            for t in range(row, 6):
                ahead = 0 if over[t, column] else ppo.DISCOUNT * values[t + 1, column]
                expected[row, column] += weight * (rewards[t, column] + ahead - values[t, column])
                weight *= ppo.DISCOUNT * ppo.GAE
                if over[t, column]:
                    break
    assert ppo.estimate(rewards, values, over) == pytest.approx(expected, abs=1e-5)


def test_training_improves_a_policy() -> None:
    random = np.random.default_rng()
    weights = policy.new_weights(random)
    adam = ppo.Adam(len(weights))
    poles = CartPoles(32, random)
    first = np.mean(ppo.roll_out(weights, poles, 100)["episodes"])
    for _ in range(25):
        ppo.improve(weights, adam, [ppo.roll_out(weights, poles)], random)
    later = ppo.roll_out(weights, CartPoles(32, random), 600)["episodes"]
    assert np.mean(later) > 3 * first
