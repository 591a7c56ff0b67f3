"""transformers.utils.generic: what a model gives, by name."""

from stubs._bags import Bag as ModelOutput
