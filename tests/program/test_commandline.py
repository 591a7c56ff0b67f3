"""What programs read from the command line, in the ways of the libraries that do so: a default is read wherever it is written."""

from __future__ import annotations

import pytest

from mpslint.api import check

HEAD = "from dataclasses import dataclass\n\nfrom torch import nn\n\n\n@dataclass\nclass Options:\n    device: str = 'cuda'\n\n\n"
OBJECTS = {
    "tap": "from tap import Tap\nclass A(Tap):\n    device: str = 'cuda'  # where\nargs = A().parse_args()\n",
    "tap, known only": "import tap\nclass A(tap.Tap):\n    device: str = 'cuda'\nargs = A(underscores_to_dashes=True).parse_args(known_only=True)\n",
    "tap, afterwards": "from tap import Tap\nclass A(Tap):\n    name: str = 'cuda'\n    def process_args(self):\n        self.device = self.name\nargs = A().parse_args()\n",
    "tap, configured": "from tap import Tap\nclass A(Tap):\n    device: str\n    def configure(self):\n        self.add_argument('-d', '--device', default='cuda:0')\nargs = A().parse_args()\n",
    "tap, base": "from tap import Tap\nclass B(Tap):\n    device: str = 'cuda'\nclass A(B):\n    rate: float = 0.1\nargs = A().parse_args()\n",
    "tapify": "from tap import tapify\nargs = tapify(Options)\n",
    "tyro": "import tyro\nargs = tyro.cli(tyro.conf.OmitArgPrefixes[Options])\n",
    "draccus": "import draccus\nargs = draccus.parse(config_class=Options)\n",
    "pyrallis": "import pyrallis\nargs = pyrallis.parse(config_class=Options)\n",
    "simple_parsing": "from simple_parsing import ArgumentParser\nparser = ArgumentParser()\nparser.add_arguments(Options, dest='all')\nargs = parser.parse_args().all\n",
    "simple_parsing, parse": "from simple_parsing import parse\nargs = parse(config_class=Options)\n",
    "jsonargparse": "from jsonargparse import ArgumentParser\nparser = ArgumentParser()\nparser.add_argument('--device', default='cuda')\nargs = parser.parse_args()\n",
    "jsonargparse, class": "from jsonargparse import ArgumentParser\nparser = ArgumentParser()\nparser.add_class_arguments(Options, 'all')\nargs = parser.parse_args().all\n",
    "configargparse": "import configargparse\nparser = configargparse.ArgParser()\nparser.add('--device', default='cuda')\nargs = parser.parse_args()\n",
    "argparse, subclass": "import argparse\nclass A(argparse.ArgumentParser):\n    def __init__(self):\n        super().__init__()\n        self.add_argument('--device', default='cuda')\nargs = A().parse_args()\n",
    "optparse": "from optparse import OptionParser\nparser = OptionParser()\nparser.add_option('--device', default='cuda')\nargs, others = parser.parse_args()\n",
    "HfArgumentParser": "from transformers import HfArgumentParser\nargs = HfArgumentParser(Options).parse_args()\n",
    "argparse_dataclass": "from argparse_dataclass import ArgumentParser\nargs = ArgumentParser(Options).parse_args()\n",
    "pydantic_argparse": "from pydantic import BaseModel\nfrom pydantic_argparse import ArgumentParser\nclass A(BaseModel):\n    device: str = 'cuda'\nargs = ArgumentParser(model=A).parse_typed_args()\n",
    "pydantic_settings": "from pydantic_settings import BaseSettings, CliApp\nclass A(BaseSettings):\n    device: str = 'cuda'\nargs = CliApp.run(A)\n",
    "chz": "import chz\n@chz.chz\nclass A:\n    device: str = 'cuda'\nargs = chz.entrypoint(A)\n",
}
FUNCTIONS = {
    "draccus": "import draccus\n@draccus.wrap()\ndef main(args: Options):\n    {body}\nmain()\n",
    "pyrallis": "import pyrallis\n@pyrallis.wrap(config_path='base.yaml')\ndef main(args: Options):\n    {body}\nmain()\n",
    "hydra": "import hydra\n@hydra.main(version_base=None, config_name='config')\ndef main(args: Options):\n    {body}\nmain()\n",
    "tyro": "import tyro\ndef main(args: Options):\n    {body}\ntyro.cli(main)\n",
    "fire, one of several": "import fire\ndef main(args=Options()):\n    {body}\nfire.Fire({{'train': main}})\n",
    "fire, module": "import fire\ndef main(args=Options()):\n    {body}\nfire.Fire()\n",
    "fire, method": "import fire\nclass A:\n    def __init__(self, device='cuda'):\n        self.device = device\n    def train(self):\n        args = self\n        {body}\nfire.Fire(A)\n",
}


@pytest.mark.parametrize("code", OBJECTS.values(), ids=OBJECTS)
def test_the_defaults_of_an_object_made_of_the_command_line_are_read(code: str) -> None:
    """Of a device that a Mac lacks the program says so; of another one nothing."""
    rules = {finding.rule for finding in check(f"{HEAD}{code}nn.Linear(2, 2).to(args.device)\n").findings}
    assert rules & {"MPS501", "MPS502"}
    assert not check(f"{HEAD}{code}nn.Linear(2, 2).to(args.device)\n".replace("'cuda", "'mps")).findings


@pytest.mark.parametrize("code", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_a_library_gives_a_function_is_read(code: str) -> None:
    """The function is walked with it."""
    code = HEAD + code.format(body="nn.Linear(2, 2).to(args.device)")
    assert {finding.rule for finding in check(code).findings} & {"MPS501", "MPS502"}
    assert not check(code.replace("'cuda", "'mps")).findings


PARSED = HEAD + "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument({argument})\nargs = parser.parse_args({words})\n"
ALWAYS_GIVEN = {
    "required": "'--device', default='cuda', required=True",
    "required, typed": "'-d', '--device', type=str, required=True, default='cuda'",
    "required, perhaps": "'--device', default='cuda', required=unknown()",
    "without a name": "'device', default='cuda'",
    "without a name, several": "'device', nargs='+', default='cuda'",
}
LEFT_OUT = {
    "not required": "'--device', default='cuda', required=False",
    "without a name, optional": "'device', nargs='?', default='cuda'",
}


@pytest.mark.parametrize("argument", ALWAYS_GIVEN.values(), ids=ALWAYS_GIVEN)
def test_the_default_of_an_argument_that_is_always_given_is_not_used(argument: str) -> None:
    """argparse raises where it is missing, so only the words say what it is."""
    assert not check(PARSED.format(argument=argument, words="") + "nn.Linear(2, 2).to(args.device)\n").findings


@pytest.mark.parametrize("argument", LEFT_OUT.values(), ids=LEFT_OUT)
def test_the_default_of_an_argument_that_may_be_left_out_is_used(argument: str) -> None:
    assert check(PARSED.format(argument=argument, words="") + "nn.Linear(2, 2).to(args.device)\n").findings


def test_words_say_what_a_required_argument_is() -> None:
    code = PARSED.format(argument=ALWAYS_GIVEN["required"].replace("'cuda'", "'mps'"), words="['--device', 'cuda']")
    assert {finding.rule for finding in check(code + "nn.Linear(2, 2).to(args.device)\n").findings} & {"MPS501", "MPS502"}


def test_click_uses_the_default_of_a_required_option() -> None:
    """click 8.5.1 asks only whether there is a value, and a default is one."""
    code = "import click\n@click.command()\n@click.option('--device', required=True, default='cuda')\ndef main(device):\n    nn.Linear(2, 2).to(device)\nmain()\n"
    assert {finding.rule for finding in check(HEAD + code).findings} & {"MPS501", "MPS502"}


def test_a_default_that_only_some_rounds_set_may_be_there() -> None:
    """What the table of defaults then holds for it is no entry with a value; what comes after is walked all the same."""
    text = """import argparse
import torch

parser = argparse.ArgumentParser()
for name in open("names"):
    if name == "b":
        parser.set_defaults(arch="a")
args = parser.parse_args()
for one in open("more"):
    one.z = parser
torch.cuda.synchronize()
"""
    assert [finding.rule for finding in check(text).findings] == ["MPS505"]
