"""Forms of other libraries that people write, each held against the library itself: the first word is what it is imported as."""

from __future__ import annotations

import importlib.util

import pytest

from tests.program.stubs.agreement import differences, run

NAMES = {"hf": "transformers", "opt": "optparse", "cfgp": "configparser"}
FORMS = {
    'hf opt': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: Optional[int] = None\n    b: Optional[float] = None\n    c: Optional[str] = None\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--a', '3', '--b', '2', '--c', '5'])[0])\n",
    'hf list': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: List[int] = field(default_factory=lambda: [1])\n    b: list[str] = field(default_factory=list)\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--a', '3', '4', '--b', '5'])[0])\n",
    'hf listdef': 'import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: List[int] = field(default_factory=lambda: [1])\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses([])[0])\n',
    'hf lit': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: Literal['x', 'y'] = 'x'\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--a', 'y'])[0])\n",
    'hf bool': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: bool = True\n    b: Optional[bool] = None\n    c: bool = field(default=False, metadata={'help': 'x'})\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--no_a', '--b', 'yes', '--c'])[0])\n",
    'hf two': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: int = 1\n@dataclass\nclass B:\n    b: str = 'x'\nx, y = HfArgumentParser((A, B)).parse_args_into_dataclasses(['--b', '7', '--a', '7'])\nresult = dict(a=x.a, b=y.b)\n",
    'hf base': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: int = 1\n@dataclass\nclass B(A):\n    b: str = 'x'\nresult = vars(HfArgumentParser(B).parse_args_into_dataclasses(['--b', '7', '--a', '7'])[0])\n",
    'hf post': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: int = 1\n    def __post_init__(self):\n        self.a *= 2\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--a', '7'])[0])\n",
    'hf dict': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: int = 1\n    b: int = 2\nresult = vars(HfArgumentParser(A).parse_dict({'a': 5})[0])\n",
    'hf alias': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\nfrom transformers.hf_argparser import HfArg\n@dataclass\nclass A:\n    a: int = HfArg(default=3, aliases=['--x'])\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--x', '7'])[0])\n",
    'hf rest': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: int = 1\nx = HfArgumentParser(A).parse_args_into_dataclasses(['--a', '7', '--q', '3'], return_remaining_strings=True)\nresult = dict(a=x[0].a, n=len(x))\n",
    'hf nsargs': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: int = 1\np = HfArgumentParser(A)\np.add_argument('--extra', type=int, default=4)\nx = p.parse_args_into_dataclasses(['--a', '7', '--extra', '9'])\nresult = dict(a=x[0].a, e=x[1].extra)\n",
    'hf dash': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a_b: int = 1\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--a-b', '7'])[0])\n",
    'hf str': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n    a: 'int' = 1\nresult = vars(HfArgumentParser(A).parse_args_into_dataclasses(['--a', '7'])[0])\n",
    'hf enum': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nfrom transformers import HfArgumentParser\nclass E(Enum):\n    x = 'x'\n    y = 'y'\n@dataclass\nclass A:\n    a: E = E.x\nresult = {'a': HfArgumentParser(A).parse_args_into_dataclasses(['--a', 'y'])[0].a == 'y'}\n",
    'tyro nest': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nimport tyro\n@dataclass\nclass B:\n    x: int = 1\n@dataclass\nclass A:\n    b: B = field(default_factory=B)\n    y: float = 2.0\nr = tyro.cli(A, args=['--b.x', '5', '--y', '3'])\nresult = dict(x=r.b.x, y=r.y)\n",
    'tyro default': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nimport tyro\n@dataclass\nclass A:\n    y: float = 2.0\n    z: int = 1\nresult = vars(tyro.cli(A, default=A(y=9.0), args=['--z', '5']))\n",
    'tyro tuple': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nimport tyro\n@dataclass\nclass A:\n    y: tuple[int, int] = (1, 2)\nresult = vars(tyro.cli(A, args=['--y', '5', '6']))\n",
    'tyro lit': "import dataclasses\nfrom dataclasses import dataclass, field\nfrom typing import Optional, List, Literal, Union\nfrom enum import Enum\nimport tyro\ndef main(a: Literal['x', 'y'] = 'x', b: Optional[int] = None):\n    result.update(a=a, b=b)\nresult = {}\ntyro.cli(main, args=['--a', 'y', '--b', 'None'])\n",
    'fire pos': "import fire\nresult = {}\ndef main(a, b=2, *c, **d):\n    result.update(a=a, b=b, c=c, d=d)\nfire.Fire(main, command=['1', '2', '3', '--x', 'y'])\n",
    'fire list': 'import fire\nresult = {}\ndef main(a=None, b=None, c=None):\n    result.update(a=a, b=b, c=c)\nfire.Fire(main, command=[\'--a\', \'[1,2]\', \'--b\', \'1,2\', \'--c\', \'"3"\'])\n',
    'fire short': "import fire\nresult = {}\ndef main(alpha=1, beta=2):\n    result.update(a=alpha, b=beta)\nfire.Fire(main, command=['-a', '5', '--beta=6'])\n",
    'fire dict': "import fire\nresult = {}\ndef t(a=1):\n    result.update(a=a)\ndef u(a=2):\n    result.update(b=a)\nfire.Fire({'t': t, 'u': u}, command=['u', '--a', '5'])\n",
    'fire dash': "import fire\nresult = {}\ndef main(a_b=1, flag=False):\n    result.update(a=a_b, f=flag)\nfire.Fire(main, command=['--a-b', '5', '--flag'])\n",
    'fire posflag': "import fire\nresult = {}\ndef main(a, b=1):\n    result.update(a=a, b=b)\nfire.Fire(main, command=['--b', '5', 'x'])\n",
    'fire neg': "import fire\nresult = {}\ndef main(a=1, b=True):\n    result.update(a=a, b=b)\nfire.Fire(main, command=['--a=-5', '--nob'])\n",
    'click mult': "import sys, click\nsys.argv = ['x', '--a', '1', '--a', '2', '-v', '-v']\nresult = {}\n@click.command()\n@click.option('--a', multiple=True, type=int)\n@click.option('-v', '--verbose', count=True)\ndef main(a, verbose):\n    result.update(a=a, v=verbose)\nmain(standalone_mode=False)\n",
    'click arg': "import sys, click\nsys.argv = ['x', 'f', '--a', '1']\nresult = {}\n@click.command()\n@click.argument('name')\n@click.option('--a', default=1.5)\ndef main(name, a):\n    result.update(n=name, a=a)\nmain(standalone_mode=False)\n",
    'click nargs': "import sys, click\nsys.argv = ['x', '--a', '1', '2']\nresult = {}\n@click.command()\n@click.option('--a', nargs=2, type=int)\n@click.option('--b', default=None)\n@click.option('--c', default=(1, 2), type=(int, int))\ndef main(a, b, c):\n    result.update(a=a, b=b, c=c)\nmain(standalone_mode=False)\n",
    'click env': "import sys, click\nsys.argv = ['x']\nresult = {}\n@click.command()\n@click.option('--a', envvar='HOME')\n@click.option('--b', default=lambda: 5)\n@click.option('--c/--no-c', ' /-C', default=True)\n@click.option('--d', flag_value='q')\ndef main(a, b, c, d):\n    result.update(a=a, b=b, c=c, d=d)\nmain(standalone_mode=False)\n",
    'typer opt': "import sys, typer\nfrom typing import Annotated, Optional\nsys.argv = ['x', '--bs', '8', '--no-fast', 'nm']\nresult = {}\ndef main(name: str, batch: int = typer.Option(4, '--bs', '-b'), fast: bool = True, lr: Annotated[float, typer.Option()] = 0.1, q: Optional[int] = None):\n    result.update(n=name, b=batch, f=fast, lr=lr, q=q)\ntry:\n    typer.run(main)\nexcept SystemExit:\n    pass\n",
    'tap': "from tap import Tap\nfrom typing import List, Optional, Literal\nclass A(Tap):\n    a: int = 1\n    b: List[int] = [1]\n    c: Optional[str] = None\n    d: bool = True\n    e: Literal['x', 'y'] = 'x'\n    f: str\nr = A().parse_args(['--b', '3', '4', '--d', '--e', 'y', '--f', '7'])\nresult = dict(a=r.a, b=r.b, c=r.c, d=r.d, e=r.e, f=r.f)\n",
    'tap conf': "from tap import Tap\nclass A(Tap):\n    a: int = 1\n    def configure(self):\n        self.add_argument('-q', '--a')\n    def process_args(self):\n        self.z = self.a + 1\nr = A().parse_args(['-q', '3'])\nresult = dict(a=r.a, z=r.z)\n",
    'opt': "import optparse\np = optparse.OptionParser()\np.add_option('-a', '--alpha', type='int', default=3, dest='al')\np.add_option('--b', action='store_true')\np.add_option('--c', default='5')\no, rest = p.parse_args(['-a', '4', 'x', '--c', '7'])\nresult = dict(a=o.al, b=o.b, c=o.c)\n",
    'cfgp': "import configparser\np = configparser.ConfigParser()\np.read_string('[a]\\nx = 1\\n')\nresult = dict(x=p.getint('a', 'x'))\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_is_said_of_a_form_is_what_the_library_gives(form: str) -> None:
    library = form.split()[0]
    if importlib.util.find_spec(NAMES.get(library, library)) is None:
        pytest.skip(f"needs {library}")
    wrong, _, every = differences(FORMS[form])
    assert run(FORMS[form]) is not None
    assert every
    assert not wrong, FORMS[form]
