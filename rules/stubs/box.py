"""box: a dict of attributes."""

from stubs._bags import Bag as Box
