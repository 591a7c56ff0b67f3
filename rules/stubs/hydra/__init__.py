"""hydra: `initialize` says where the files lie of which `compose` makes a configuration."""

from stubs.host import compose_config, declined, is_complete, items, plain, remember, remembered, unknown

FOLDER = "folder of compositions"


def initialize(config_path=None, *given, **more):
    remember(FOLDER, unknown if config_path is None else config_path)
    return declined


def compose(config_name: plain = None, overrides=None, **more):
    folder = plain(remembered(FOLDER))
    if not (isinstance(folder, str) and isinstance(config_name, str)) or (overrides is not None and not is_complete(overrides)):
        return declined
    found = compose_config(folder, config_name, items(overrides))
    return declined if found is None else found
