"""hydra.utils: what calls what a configuration says."""

from stubs._configurations import instantiated
from stubs.host import declined, is_open


def instantiate(config=None, *given, **named):
    made = instantiated(config, list(given), named, is_open()) if config is not None else None
    return declined if made is None else made


call = instantiate
