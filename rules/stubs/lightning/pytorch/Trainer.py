"""lightning.pytorch.Trainer: `from_argparse_args` makes one of the options of a parser; of these only those that it takes count."""

from stubs._words import literals, named
from stubs.host import made_by_call, slots, words_in


def from_argparse_args(args=None, **given):
    words, is_all = words_in(None)
    return made_by_call("lightning.pytorch.Trainer", given, {**literals(named(words or [])), **slots(args)}, True)
