"""ml_collections.config_dict: a dict of attributes."""

from stubs._bags import Bag as ConfigDict
from stubs._bags import named_bag


def create(**named):
    return named_bag("ml_collections.ConfigDict", named)
