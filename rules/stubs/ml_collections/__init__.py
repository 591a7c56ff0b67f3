"""ml_collections: a dict of attributes."""

from stubs._bags import Bag as ConfigDict
