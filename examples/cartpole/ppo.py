"""Proximal policy optimisation: roll a policy out, then improve it a little."""

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from . import policy
from .cartpole import CartPoles, Floats

STEPS = 32  # Per environment and rollout.
DISCOUNT, GAE = 0.98, 0.8
CLIP = 0.2
EPOCHS, MINIBATCH = 10, 256
RATE = 1e-3
LONGEST_GRADIENT = 0.5


class Rollout(TypedDict):
    """What a worker has seen: one row per step, and the episodes that ended."""

    states: Floats
    actions: NDArray[np.int8]
    log_probabilities: Floats
    advantages: Floats
    returns: Floats
    episodes: list[int]


def roll_out(weights: Floats, poles: CartPoles, steps: int = STEPS) -> Rollout:
    """Plays `steps` steps in each environment with the policy of `weights`."""
    actor, _ = policy.split(weights)
    count = len(poles.state)
    states = np.empty((steps, count, 4), np.float32)
    actions = np.empty((steps, count), np.int8)
    chosen = np.empty((steps, count), np.float32)
    rewards = np.ones((steps, count), np.float32)
    over = np.empty((steps, count), np.bool_)
    episodes: list[int] = []
    for t in range(steps):
        states[t] = poles.state
        logs = policy.log_probabilities(policy.ACTOR.run(actor, poles.state)[-1])
        pushes = poles.random.random(count) < np.exp(logs[:, 1])
        actions[t] = pushes
        chosen[t] = np.where(pushes, logs[:, 1], logs[:, 0])
        reached, fell, timed_out, lengths = poles.step(pushes)
        over[t] = fell | timed_out
        if timed_out.any():  # It would have gone on: what was cut off counts.
            rewards[t, timed_out] += DISCOUNT * policy.values(weights, reached[timed_out])
        episodes += lengths
    everything = np.concatenate([states.reshape(-1, 4), poles.state])
    values = policy.values(weights, everything).reshape(steps + 1, count)
    advantages = estimate(rewards, values, over)
    return Rollout(
        states=states.reshape(-1, 4),
        actions=actions.ravel(),
        log_probabilities=chosen.ravel(),
        advantages=advantages.ravel(),
        returns=(advantages + values[:-1]).ravel(),
        episodes=episodes,
    )


def estimate(rewards: Floats, values: Floats, over: NDArray[np.bool_]) -> Floats:
    """How much better each action was than expected (GAE); `values` has a row more."""
    advantages = np.empty_like(rewards)
    later = np.zeros(rewards.shape[1], np.float32)
    for t in reversed(range(len(rewards))):
        goes_on = np.where(over[t], np.float32(0), np.float32(DISCOUNT))
        surprise = rewards[t] + goes_on * values[t + 1] - values[t]
        later = surprise + goes_on * GAE * later
        advantages[t] = later
    return advantages


def gradient(weights: Floats, batch: Rollout) -> Floats:
    """Of the clipped objective and of the critic's squared error."""
    actor, critic = policy.split(weights)
    count = np.float32(len(batch["actions"]))
    rows = np.arange(len(batch["actions"]))
    layers = policy.ACTOR.run(actor, batch["states"])
    logs = policy.log_probabilities(layers[-1])
    ratio = np.exp(logs[rows, batch["actions"]] - batch["log_probabilities"])
    advantages = batch["advantages"]
    clipped = np.where(advantages > 0, ratio > 1 + CLIP, ratio < 1 - CLIP)
    pull: Floats = np.where(clipped, 0, advantages * ratio).astype(np.float32) / count
    error: Floats = np.exp(logs) * pull[:, None]
    error[rows, batch["actions"]] -= pull
    of_actor = policy.ACTOR.gradient(actor, layers, error)
    layers = policy.CRITIC.run(critic, batch["states"])
    error = (layers[-1] - batch["returns"][:, None]) / count
    return np.concatenate([of_actor, policy.CRITIC.gradient(critic, layers, error)])


class Adam:
    """Steps along a gradient, each weight at a pace of its own."""

    def __init__(self, size: int) -> None:
        self.mean = np.zeros(size, np.float32)
        self.square = np.zeros(size, np.float32)
        self.steps = 0

    def step(self, weights: Floats, gradient: Floats, rate: float) -> None:
        self.steps += 1
        length = float(np.linalg.norm(gradient))
        gradient = gradient * min(1.0, LONGEST_GRADIENT / (length + 1e-6))
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient * gradient - self.square)
        mean = self.mean / (1 - 0.9**self.steps)
        square = self.square / (1 - 0.999**self.steps)
        weights -= (rate * mean / (np.sqrt(square) + 1e-5)).astype(np.float32)


def improve(
    weights: Floats,
    adam: Adam,
    rollouts: list[Rollout],
    random: np.random.Generator,
    combine: Callable[[Floats], Floats] = lambda gradient: gradient,
    minibatch: int = MINIBATCH,
) -> None:
    """One update of `weights`, in place, from what these rollouts have seen. `combine`
    makes one gradient of those that several processes have at the same time."""
    joined = {
        key: np.concatenate([rollout[key] for rollout in rollouts])
        for key in ("states", "actions", "log_probabilities", "advantages", "returns")
    }
    advantages = joined["advantages"]
    joined["advantages"] = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    count = len(advantages)
    for _ in range(EPOCHS):
        order = random.permutation(count)
        for start in range(0, count, minibatch):
            rows = order[start : start + minibatch]
            batch = Rollout(episodes=[], **{key: column[rows] for key, column in joined.items()})  # type: ignore[typeddict-item]
            adam.step(weights, combine(gradient(weights, batch)), RATE)
