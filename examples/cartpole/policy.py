"""A policy and an estimate of how well it will do, as two small neural networks.

All weights lie in one vector, so that a policy travels as a single array.
"""

import numpy as np

from .cartpole import Floats

HIDDEN = 64


class Network:
    """A perceptron with two hidden layers, over weights that somebody else owns."""

    def __init__(self, outputs: int) -> None:
        self.shapes = [(4, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, outputs)]
        self.size = sum((inputs + 1) * width for inputs, width in self.shapes)

    def initial(self, random: np.random.Generator, last_scale: float) -> Floats:
        parts = []
        for index, (inputs, width) in enumerate(self.shapes):
            matrix = random.normal(size=(max(inputs, width), min(inputs, width)))
            basis = np.linalg.qr(matrix)[0]
            basis = basis if inputs >= width else basis.T
            scale = last_scale if index == len(self.shapes) - 1 else np.sqrt(2)
            parts += [(scale * basis).ravel(), np.zeros(width)]
        return np.concatenate(parts).astype(np.float32)

    def layers(self, weights: Floats) -> list[tuple[Floats, Floats]]:
        """A matrix and a bias per layer: views into `weights`."""
        found, at = [], 0
        for inputs, width in self.shapes:
            middle, end = at + inputs * width, at + (inputs + 1) * width
            found.append((weights[at:middle].reshape(inputs, width), weights[middle:end]))
            at = end
        return found

    def run(self, weights: Floats, inputs: Floats) -> list[Floats]:
        """What each layer gives, after the inputs themselves; the last is the answer."""
        activations = [inputs]
        layers = self.layers(weights)
        for index, (matrix, bias) in enumerate(layers):
            value = activations[-1] @ matrix + bias
            activations.append(value if index == len(layers) - 1 else np.tanh(value))
        return activations

    def gradient(self, weights: Floats, activations: list[Floats], error: Floats) -> Floats:
        """How the loss changes with the weights, from how it changes with the answer."""
        gradient = np.empty(self.size, np.float32)
        slots, layers = self.layers(gradient), self.layers(weights)
        for index in reversed(range(len(layers))):
            inputs = activations[index]
            slots[index][0][...] = inputs.T @ error
            slots[index][1][...] = error.sum(axis=0)
            if index > 0:
                error = (error @ layers[index][0].T) * (1 - inputs * inputs)
        return gradient


ACTOR, CRITIC = Network(outputs=2), Network(outputs=1)


def new_weights(random: np.random.Generator) -> Floats:
    return np.concatenate([ACTOR.initial(random, 0.01), CRITIC.initial(random, 1.0)])


def split(weights: Floats) -> tuple[Floats, Floats]:
    return weights[: ACTOR.size], weights[ACTOR.size :]


def log_probabilities(logits: Floats) -> Floats:
    shifted: Floats = logits - logits.max(axis=1, keepdims=True)
    total: Floats = np.exp(shifted).sum(axis=1, keepdims=True)
    return shifted - np.log(total)


def values(weights: Floats, states: Floats) -> Floats:
    return CRITIC.run(split(weights)[1], states)[-1][:, 0]
