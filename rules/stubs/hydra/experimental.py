"""hydra.experimental: hydra, as it was before 1.1."""

from stubs.hydra import compose, initialize
