"""configargparse: argparse, with shorter names, which reads files and the environment, too."""

from stubs.argparse import ArgumentParser as Parser
from stubs.argparse import add
from stubs.host import plain

OTHER_SOURCES = ("env_var", "is_config_file", "is_config_file_arg")


class ArgumentParser(Parser):
    def __init__(self, *given, default_config_files=None, auto_env_var_prefix=None, args_for_setting_config_path=None, **more):
        super().__init__(*given, **more)
        others = (default_config_files, auto_env_var_prefix, args_for_setting_config_path)
        self.has_other_sources = [one for one in others if one is not None] != []

    def add_argument(self, *flags: plain, nargs=None, **more):
        if [name for name in OTHER_SOURCES if name in more]:
            self.has_other_sources = True
        return super().add_argument(*flags, nargs=nargs, **more)

    def add(self, *flags: plain, nargs=None, **more):
        return self.add_argument(*flags, nargs=nargs, **more)

    def add_arg(self, *flags: plain, nargs=None, **more):
        return self.add_argument(*flags, nargs=nargs, **more)


ArgParser = ArgumentParser
