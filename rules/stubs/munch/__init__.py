"""munch: a dict of attributes."""

from stubs._bags import Bag as Munch
from stubs.munch.Munch import fromDict as munchify
