"""Whatever a program calls a library with, its stub has no mistake: what it doesn't take is left to others."""

from __future__ import annotations

import itertools

import pytest

import mpslint
from mpslint.core.notices import taken
from tests.program.stubs.agreement import differences

VALUES = (
    "", "None", "1", "'x'", "'--x'", "['--x', '1']", "[1, None, unknown()]", "*unknown()", "**unknown()", "{'a': 1}", "unknown()", "f", "A", "A()",
    "print", "lambda: 1", "1, 2, 3, 4, 5", "'--x', default=unknown(), type=unknown(), nargs=unknown()", "'--x', action=unknown(), dest=unknown()",
    "'--x', nargs=[1], const=2, type=lambda v: v.y", "'x', 'y', nargs='*', default=[1]", "args=3", "config=4", "{'_target_': 'A', '_partial_': 1}",
    "'--x', '-x', action='store_const', nargs=-1", "'-', '--', '---', ''", "x=1, y=f", "[f, A]", "('a', 'b')", "A, 'name', A()", "b'--x'", "1.5j",
)  # fmt: skip
HEAD = """\
import argparse, configparser, dataclasses, optparse, sys
import absl.flags, chz, click, configargparse, draccus, fire, hydra, jsonargparse, lightning.pytorch.cli, ml_collections.config_flags, omegaconf
import simple_parsing, tap, torch, transformers, trl, typer, tyro, wandb
from somewhere import unknown


@dataclasses.dataclass
class A:
    x: int = 1
    def g(self, y=2): pass


class T(tap.Tap):
    x: int


class C(lightning.pytorch.cli.LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.set_defaults({given})
        parser.link_arguments({given})


def f(a: A, b=1, *c, **d): pass


{words}
p = argparse.ArgumentParser()
c = configparser.ConfigParser()
"""
CALLS = (
    "p.add_argument('--k', flags=2); p.add_argument('--l', parser=3, self=1, is_always_given=1); argparse.ArgumentParser(self=3)",
    "argparse.ArgumentParser({given}).parse_args()",
    "p.add_argument({given}); p.parse_args()",
    "p.add_argument({given}); p.add_argument({given}); p.parse_known_args()",
    "p.set_defaults({given}); p.parse_args()",
    "p.add_argument('--x', '-y', type=f); p.add_argument('z', nargs='+'); p.parse_args({given})",
    "optparse.OptionParser().parse_args({given})",
    "configargparse.ArgParser().add({given})",
    "simple_parsing.ArgumentParser().add_arguments({given}); jsonargparse.ArgumentParser().add_class_arguments({given})",
    "simple_parsing.parse({given}); draccus.parse({given}); chz.entrypoint({given})",
    "transformers.HfArgumentParser({given}).parse_args_into_dataclasses()",
    "h = transformers.HfArgumentParser([A, transformers.TrainingArguments]); h.parse_args_into_dataclasses({given}); h.parse_dict({given})",
    "h = trl.TrlParser(A); h.parse_args_and_config({given}); h.parse_json_file({given}); h.parse_yaml_file({given})",
    "fire.Fire({given}); tyro.cli({given}); typer.run({given}); jsonargparse.CLI({given})",
    "T({given}).parse_args({given}); T().add_argument({given})",
    "absl.flags.DEFINE_integer({given}); absl.flags.DEFINE_bool({given}); absl.flags.DEFINE_list({given}); absl.flags.FLAGS.x",
    "ml_collections.config_flags.DEFINE_config_file({given})",
    "omegaconf.OmegaConf.merge({given}); omegaconf.OmegaConf.from_cli({given}); omegaconf.OmegaConf.to_container({given})",
    "omegaconf.OmegaConf.structured({given}); hydra.utils.instantiate({given}); hydra.initialize({given}); hydra.compose({given})",
    "lightning.pytorch.cli.LightningCLI({given}); C({given}); lightning.pytorch.Trainer.from_argparse_args({given})",
    "wandb.init({given}); wandb.sweep({given}); wandb.init(config={{'x': 1}}); wandb.config.x",
    "c.read({given}); c.get({given}); c.getint('a', 'b'); c.getboolean({given})",
    "click.option({given})(f)(); click.command()(click.option('--x', {given})(f))()",
)
WORDS = (
    "",
    "sys.argv = ['t', '--x', '1', 'z', '--no-y', '-2', '--a.b=3', '--', '=', '--=', '-']",
    "sys.argv = unknown()",
    "sys.argv.append(unknown())",
)


@pytest.mark.parametrize("call", CALLS)
def test_no_call_finds_a_mistake_in_a_stub(call: str) -> None:
    for given, words in itertools.product(VALUES, WORDS[:2]):
        code = HEAD.format(given=given, words=words) + call.format(given=given) + "\n"
        mpslint.check(code)
        assert not taken(), code


@pytest.mark.parametrize("words", WORDS)
def test_words_that_are_not_known_find_none_either(words: str) -> None:
    for call in CALLS:
        code = HEAD.format(given="", words=words) + call.format(given="") + "\n"
        mpslint.check(code)
        assert not taken(), code


def test_two_thousand_options_are_followed() -> None:
    """Each word is looked at so many times, however many there are."""
    taken()
    options = "".join(f"p.add_argument('--o{i}', type=int, default=0)\n" for i in range(2000))
    words = [word for i in range(2000) for word in (f"--o{i}", str(i))]
    wrong, told, every = differences(f"import argparse\np = argparse.ArgumentParser()\n{options}result = vars(p.parse_args({words}))\n")
    assert (wrong, told, every) == ([], 2000, 2000)
    assert not [line for line in taken().values() if line]
