"""CartPole for the examples: the environment, a policy, and how it is trained.

Imported before numpy, so that its matrix products, which are small, stay in the
thread that asks for them.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .cartpole import CartPoles

__all__ = ["CartPoles"]
