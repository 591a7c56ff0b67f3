"""wandb: what `init` is given, and a search gives its runs, is read as `wandb.config`."""

from stubs._bags import Bag
from stubs.host import as_outside, declined, entries, items, one_of, remember, remembered, set_attribute, shared, slots, unknown

CONFIG = "wandb.config"
SEARCHED = "what a search decides"


class config(Bag):
    def update(self, d=None, *given, **more):
        return super().update(*([] if d is None else [d]))


def init(*given, config=None, **more):
    run = as_outside()
    kept = shared(CONFIG, "another file")
    set_attribute(run, "config", kept)
    searched = entries(remembered(SEARCHED)) or {}
    for name, value in slots(config).items():
        if name not in searched:
            set_attribute(kept, name, value)
    return run


def finish(*given, **more):
    """Forget what a run was given: the next one begins anew."""
    kept = shared(CONFIG, "another file")
    for name in slots(kept):
        set_attribute(kept, name, unknown)
    return declined


def sweep(sweep=None, *given, **more):
    """Write what a search gives its runs: a value, or one of several; what it draws isn't known."""
    parameters = (entries(sweep) or {}).get("parameters")
    for name, told in (entries(parameters) or {}).items():
        said = entries(told) or {}
        value = said.get("value", one_of(items(said["values"])) if "values" in said else unknown)
        set_attribute(shared(CONFIG, "another file"), name, value)
    if parameters is not None:
        remember(SEARCHED, parameters)
    return declined
