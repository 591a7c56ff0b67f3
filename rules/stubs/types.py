"""types: an object of attributes."""

from stubs._bags import Flat as SimpleNamespace
