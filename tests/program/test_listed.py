"""A device that an annotation, an enumeration or a pattern doesn't list keeps a fix from being made."""

from __future__ import annotations

import pytest

import mpslint

CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'
USE = "torch.nn.Linear(2, 2).to({device})\n"
ENUM = 'from enum import Enum\nclass Device(str, Enum):\n    CUDA = "cuda"\n    CPU = "cpu"\n{more}\n'
OPEN_ENUM = ENUM.format(more="    @classmethod\n    def _missing_(cls, value):\n        return cls.CPU")
CLOSED_ENUM = ENUM.format(more="")
LITERAL = "from typing import Literal, Optional\n"
PYDANTIC = "from pydantic import BaseModel\n"
TWO, TWO_OR_NONE, THREE = 'Literal["cuda", "cpu"]', 'Literal["cuda", "cpu"] | None', 'Literal["cuda", "mps", "cpu"]'
DATA = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    device: {kind} = {choice}\nconfig = Config()\n"
OF_PYDANTIC = DATA.replace("from dataclasses", "from pydantic.dataclasses")
CHECKED = "from pydantic import validate_call\n@validate_call\n"
ATTRS = f"import attr, attrs\n@{{maker}}\nclass S:\n    device = {{field}}(default={CHOICE}{{checks}})\n{{more}}s = S()\n{USE.format(device='s.device')}"
OF_TEXT, TWO_TEXTS = "attrs.validators.instance_of(str)", "attrs.validators.in_(('cuda', 'cpu'))"
OWN_VALIDATOR = "    @device.validator\n    def check(self, field, value):\n        if value not in ('cuda', 'cpu'):\n            raise ValueError(value)\n"
TEXT = '"cuda"'
PATTERN = (
    "from pydantic import Field\nfrom pydantic.dataclasses import dataclass\n@dataclass\nclass S:\n"
    f"    device: str = Field({CHOICE}, pattern='{{pattern}}', validate_default=True)\ns = S()\n{USE.format(device='s.device')}"
)

CLOSED = [
    f"{CLOSED_ENUM.replace('CUDA', 'cuda').replace('CPU', 'cpu')}device = Device[{CHOICE}]\n{USE.format(device='device.value')}",
    f"{CLOSED_ENUM}device = Device({CHOICE})\n{USE.format(device='device.value')}",
    f"{CLOSED_ENUM}name = {CHOICE}\n{CHECKED}def build(device: Device = name):\n    {USE.format(device='device')}build()\n",
    f"{LITERAL}{OF_PYDANTIC.format(kind=TWO, choice=CHOICE)}{USE.format(device='config.device')}",
    f"{LITERAL}Name = Literal['cuda', 'cpu']\n{OF_PYDANTIC.format(kind='Optional[Name]', choice=CHOICE)}{USE.format(device='config.device')}",
    f"{LITERAL}{OF_PYDANTIC.format(kind=TWO_OR_NONE, choice=CHOICE)}{USE.format(device='config.device')}",
    f"{LITERAL}{PYDANTIC}class S(BaseModel):\n    device: Literal['cuda', 'cpu']\ns = S(device={CHOICE})\n{USE.format(device='s.device')}",
    PATTERN.format(pattern="^(cuda|cpu)$"),
    ATTRS.format(maker="attr.s", field="attr.ib", checks=", validator=attr.validators.in_(['cuda', 'cpu'])", more=""),
    ATTRS.format(
        maker="attrs.define", field="attrs.field", checks=f", validator=[{OF_TEXT}, attrs.validators.optional({TWO_TEXTS})]", more=""
    ),
    ATTRS.format(maker="attrs.define", field="attrs.field", checks="", more=OWN_VALIDATOR),
    f"{ENUM.format(more='').replace(TEXT, CHOICE)}{USE.format(device='Device.CUDA.value')}",
]
CLICK = "import click\n@click.command()\n@click.option('--device', type=click.Choice({choices}), default='cuda')\ndef main(device):\n    {use}main()\n"
OPEN = [
    f"{OPEN_ENUM}device = Device({CHOICE})\nname = {CHOICE}\n{USE.format(device='name')}",
    f"{LITERAL}{DATA.format(kind=THREE, choice=CHOICE)}{USE.format(device='config.device')}",
    f"{LITERAL}{DATA.format(kind='Optional[str]', choice=CHOICE)}{USE.format(device='config.device')}",
    PATTERN.format(pattern="^[a-z]+$"),
    # Python itself reads no annotation.
    f"{LITERAL}{DATA.format(kind=TWO, choice=CHOICE)}{USE.format(device='config.device')}",
    f"{LITERAL}device: Literal['cuda', 'cpu'] = {CHOICE}\n{USE.format(device='device')}",
    f"{LITERAL}name = {CHOICE}\ndef build(device: {TWO} = name):\n    {USE.format(device='device')}build()\n",
    ATTRS.format(maker="attr.s", field="attr.ib", checks=", validator=attr.validators.in_(['cuda', 'mps'])", more=""),
]


def is_fixed(code: str) -> bool:
    """Return whether the choice of device takes the Mac's GPU after the safe fixes."""
    return "backends.mps" in mpslint.fix(f"import torch\n{code}", select=["MPS503"]).text


@pytest.mark.parametrize("code", CLOSED)
def test_a_device_that_is_not_listed_is_not_written(code: str) -> None:
    """The Enum and attrs raise ValueError, pydantic ValidationError; a member of an enumeration has the value that its name says."""
    assert not is_fixed(code)


@pytest.mark.parametrize("code", OPEN)
def test_what_takes_other_texts_takes_the_mac(code: str) -> None:
    """An enumeration that looks for others itself may take it as well."""
    assert is_fixed(code)


@pytest.mark.parametrize(
    ("choices", "safety"), [("['cuda', 'cpu']", "manual"), ("['cuda', 'mps']", "safe"), ("load()", "safe")], ids=["two", "mps", "unknown"]
)
def test_click_takes_no_default_beside_its_choices(choices: str, safety: str) -> None:
    """It makes a default the option's type, as it does words."""
    code = f"import torch\n{CLICK.format(choices=choices, use=USE.format(device='device'))}"
    assert [one.safety for one in mpslint.check(code, select=["MPS502"]).findings] == [safety]


def test_a_pattern_that_may_take_for_ever_is_not_tried() -> None:
    """What isn't tried refuses nothing."""
    assert is_fixed(PATTERN.format(pattern="^((((((a*)*)*)*)*)*)*$"))


@pytest.mark.parametrize(
    "call",
    [
        "from xgboost import XGBClassifier\nXGBClassifier(device=device)",
        "import xgboost as xgb\nxgb.train({'device': device}, data)",
        "from faster_whisper import WhisperModel\nWhisperModel('tiny', device)",
    ],
)
def test_a_package_with_devices_of_its_own_is_given_no_other(call: str) -> None:
    """The same name is that of the device of a network."""
    assert not is_fixed(f"device = {CHOICE}\n{USE.format(device='device')}{call}\n")


@pytest.mark.parametrize(("value", "raises"), [("cuda", False), ("mps", True)])
def test_a_value_that_an_enumeration_lacks_raises(value: str, raises: bool) -> None:
    """What is behind it in a `try` isn't reached, and its handler is."""
    tried = f'try:\n    Device("{value}")\n    device = "cpu"\nexcept ValueError:\n    device = "cuda"\n'
    found = mpslint.check(f"import torch\n{CLOSED_ENUM}{tried}torch.ones(1).to(device)\n", select=["MPS501"]).findings
    assert bool(found) is raises
