"""Forms of argparse that people write, each held against argparse itself."""

from __future__ import annotations

import pytest

from tests.program.stubs.agreement import differences, run

FORMS = {
    'a subparser': "p = argparse.ArgumentParser()\ns = p.add_subparsers(dest='cmd')\na = s.add_parser('train')\na.add_argument('--lr', type=float, default=0.1)\nb = s.add_parser('test')\nb.add_argument('--lr', type=float, default=0.2)\nresult = vars(p.parse_args(['train', '--lr', '3']))\n",
    'another subparser': "p = argparse.ArgumentParser()\ns = p.add_subparsers(dest='cmd')\na = s.add_parser('train')\na.add_argument('--lr', type=float, default=0.1)\nb = s.add_parser('test')\nb.add_argument('--lr', type=float, default=0.2)\nresult = vars(p.parse_args(['test']))\n",
    'defaults of a subparser': "p = argparse.ArgumentParser()\np.add_argument('--x', default=1)\ns = p.add_subparsers(dest='cmd')\na = s.add_parser('train')\na.set_defaults(func='f')\nresult = vars(p.parse_args(['--x', '2', 'train']))\n",
    'a loop': "p = argparse.ArgumentParser()\nfor n, d in (('a', 1), ('b', 2.5), ('c', 'x')):\n    p.add_argument(f'--{n}', type=type(d), default=d)\nresult = vars(p.parse_args(['--a', '3']))\n",
    'a dict': "p = argparse.ArgumentParser()\nD = {'a': 1, 'b': True}\nfor k, v in D.items():\n    p.add_argument('--' + k, default=v)\nresult = vars(p.parse_args([]))\n",
    'a function': "p = argparse.ArgumentParser()\ndef opts(q):\n    q.add_argument('--lr', type=float, default=1e-3)\n    return q\nresult = vars(opts(p).parse_args(['--lr=5']))\n",
    'a namespace': "p = argparse.ArgumentParser()\np.add_argument('--a', default=1)\np.add_argument('--b', default=2)\nn = argparse.Namespace(a=5, c=7)\nresult = vars(p.parse_args(['--b', '3'], namespace=n))\n",
    'suppressed': "p = argparse.ArgumentParser()\np.add_argument('--a', default=argparse.SUPPRESS)\np.add_argument('--b', type=int)\nresult = vars(p.parse_args(['--b', '3']))\n",
    'suppressed for all': "p = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)\np.add_argument('--a')\np.add_argument('--b', type=int)\nresult = vars(p.parse_args(['--b', '3']))\n",
    'a default for all': "p = argparse.ArgumentParser(argument_default=7)\np.add_argument('--a')\nresult = vars(p.parse_args([]))\n",
    'other dashes': "p = argparse.ArgumentParser(prefix_chars='+')\np.add_argument('+a', type=int)\nresult = vars(p.parse_args(['+a', '3']))\n",
    'words in files': "p = argparse.ArgumentParser(fromfile_prefix_chars='@')\np.add_argument('--a', type=str)\nresult = vars(p.parse_args(['--a', 'x']))\n",
    'not abbreviated': "p = argparse.ArgumentParser(allow_abbrev=False)\np.add_argument('--alpha', default=1)\nresult = vars(p.parse_known_args(['--al', '3'])[0])\n",
    'an action of its own': "p = argparse.ArgumentParser()\nclass A(argparse.Action):\n    def __call__(self, parser, namespace, values, option_string=None):\n        setattr(namespace, self.dest, values.upper())\np.add_argument('--a', action=A)\nresult = vars(p.parse_args(['--a', 'x']))\n",
    'append': "p = argparse.ArgumentParser()\np.add_argument('--a', action='append', type=int)\nresult = vars(p.parse_args(['--a', '1', '--a', '2']))\n",
    'append with a default': "p = argparse.ArgumentParser()\np.add_argument('--a', action='append', default=[0])\nresult = vars(p.parse_args([]))\n",
    'extend': "p = argparse.ArgumentParser()\np.add_argument('--a', action='extend', nargs='+')\nresult = vars(p.parse_args(['--a', '1', '2', '--a', '3']))\n",
    'count': "p = argparse.ArgumentParser()\np.add_argument('-v', action='count', default=0)\nresult = vars(p.parse_args(['-vvv']))\n",
    'several in one word': "p = argparse.ArgumentParser()\np.add_argument('-a', action='store_true')\np.add_argument('-b', action='store_true')\np.add_argument('-n', type=int)\nresult = vars(p.parse_args(['-abn5']))\n",
    'the rest': "p = argparse.ArgumentParser()\np.add_argument('--a', default=1)\np.add_argument('rest', nargs=argparse.REMAINDER)\nresult = vars(p.parse_args(['x', '--a', '3']))\n",
    'two dashes': "p = argparse.ArgumentParser()\np.add_argument('--a', default=1)\np.add_argument('rest', nargs='*')\nresult = vars(p.parse_args(['--', '--a', '3']))\n",
    'version': "p = argparse.ArgumentParser()\np.add_argument('--version', action='version', version='1')\np.add_argument('--a', default=1)\nresult = vars(p.parse_args([]))\n",
    'a parent': "p = argparse.ArgumentParser(add_help=False)\np.add_argument('--a', default=1, type=int)\nq = argparse.ArgumentParser(parents=[p])\nq.add_argument('--b', default=2)\nq.set_defaults(a='9')\nresult = vars(q.parse_args(['--b', 'z']))\n",
    'defaults through a parent': "p = argparse.ArgumentParser(add_help=False)\np.add_argument('--a', default=1, type=int)\nq = argparse.ArgumentParser(parents=[p])\nq.set_defaults(a=3)\nresult = vars(p.parse_args([]))\n",
    'a default that is changed': "p = argparse.ArgumentParser()\np.add_argument('--a', default=[1])\na = p.parse_args([])\na.a.append(2)\nb = p.parse_args([])\nresult = vars(b)\n",
    'under a condition': "p = argparse.ArgumentParser()\nimport sys\nif len(sys.argv) > 50:\n    p.add_argument('--a', default=1)\nelse:\n    p.add_argument('--a', default=2)\nresult = vars(p.parse_args([]))\n",
    'a default asked for': "p = argparse.ArgumentParser()\np.add_argument('--a', default=1)\nx = p.get_default('a')\nresult = dict(x=x)\n",
    'choices': "p = argparse.ArgumentParser()\np.add_argument('--a', choices=[1, 2], type=int, default=1)\nresult = vars(p.parse_args(['--a', '2']))\n",
    'a type that is a lambda': "p = argparse.ArgumentParser()\np.add_argument('--a', type=lambda s: [int(x) for x in s.split(',')], default='1,2')\nresult = vars(p.parse_args(['--a', '3,4']))\n",
    'None as a text': "p = argparse.ArgumentParser()\np.add_argument('--a-b', type=str, default=None)\nargs = p.parse_args(['--a-b', 'None'])\nresult = dict(a=args.a_b)\n",
    'two names': "p = argparse.ArgumentParser()\np.add_argument('--a', '--alias-b', dest='z', default='q')\nresult = vars(p.parse_args(['--alias-b', 'w']))\n",
    'a subclass': "class Q(argparse.ArgumentParser):\n    def parse_args(self, *a, **k):\n        r = super().parse_args(*a, **k)\n        r.extra = 5\n        return r\np = Q()\np.add_argument('--a', default=1)\nresult = vars(p.parse_args([]))\n",
    'constants': "p = argparse.ArgumentParser()\np.add_argument('--a', action='store_const', const='c')\np.add_argument('--b', action='append_const', const='c')\nresult = vars(p.parse_args(['--a', '--b', '--b']))\n",
    'an empty text': "p = argparse.ArgumentParser()\np.add_argument('--a', default='x')\nresult = vars(p.parse_args(['--a=']))\n",
    'a constant without a value': "p = argparse.ArgumentParser()\np.add_argument('--a', nargs='?', const='c', default='d')\np.add_argument('x', nargs='?', default='3', type=int)\nresult = vars(p.parse_args(['--a']))\n",
    'a flag that is a number': "p = argparse.ArgumentParser()\np.add_argument('--a', type=float)\np.add_argument('-1', dest='one', action='store_true')\nresult = vars(p.parse_args(['-1', '--a', '2']))\n",
    'a text with a space': "p = argparse.ArgumentParser()\np.add_argument('--a', nargs='+', type=str)\nresult = vars(p.parse_args(['--a', 'x y', '- z']))\n",
    'an option of two subparsers': "p = argparse.ArgumentParser()\ns = p.add_subparsers(dest='cmd')\na = s.add_parser('train')\nb = s.add_parser('test')\na.add_argument('--bs', type=int, default=4)\nb.add_argument('--bs', type=int, default=8)\nresult = vars(p.parse_args(['train']))\n",
    'an option of a parser and a subparser': "p = argparse.ArgumentParser()\np.add_argument('--device', default='cpu')\ns = p.add_subparsers()\na = s.add_parser('train')\na.add_argument('--device', default='mps')\nresult = vars(p.parse_args([]))\n",
    'defaults of two subparsers': "p = argparse.ArgumentParser()\ns = p.add_subparsers(dest='cmd')\na = s.add_parser('train')\nb = s.add_parser('test')\na.set_defaults(bs=4)\nb.set_defaults(bs=8)\nresult = vars(p.parse_args(['train']))\n",
    'a default before its option': "p = argparse.ArgumentParser()\np.set_defaults(bs='4')\np.add_argument('--bs', type=int)\nresult = vars(p.parse_args([]))\n",
    'an option defined twice': "p = argparse.ArgumentParser(conflict_handler='resolve')\np.add_argument('--bs', '-b', type=int, default=4)\np.add_argument('--bs', type=float, default=8)\nresult = vars(p.parse_args(['-b', '3']))\n",
    'a list and one more': "p = argparse.ArgumentParser()\np.add_argument('files', nargs='+')\np.add_argument('out')\nresult = vars(p.parse_args(['a', 'b', 'c']))\n",
    'one that may be left out, and one more': "p = argparse.ArgumentParser()\np.add_argument('a', nargs='?', default='cpu')\np.add_argument('b')\nresult = vars(p.parse_args(['mps']))\n",
    'types of outside': "p = argparse.ArgumentParser()\np.add_argument('--a', type=eval)\np.add_argument('--b', type=len)\nresult = vars(p.parse_args(['--a', '2*4', '--b', '1']))\n",
    'a type that asks for a file': "import os\np = argparse.ArgumentParser()\np.add_argument('--a', type=os.path.exists)\nresult = vars(p.parse_args(['--a', 'q']))\n",
    'an action that is kept': "p = argparse.ArgumentParser()\nx = p.add_argument('--a', default=1)\nx.completer = 3\nresult = vars(p.parse_args([]))\n",
    'an action whose default is written': "p=argparse.ArgumentParser()\na=p.add_argument('--bs',default=4,type=int)\nsetattr(a,'default',7)\nb=p.add_argument('--c',default=4,type=int)\nvars(b)['default']=9\nresult=vars(p.parse_args([]))\n",
    'an action whose type and name are written': "p=argparse.ArgumentParser()\np.add_argument('--device',default='cpu')\na=p.add_argument('--bs',default=4,type=int)\na.type=float\na.dest='size'\nresult=vars(p.parse_args(['--bs','3']))\n",
    'a default that is written': "p=argparse.ArgumentParser()\no=p.add_argument('--bs',type=int,default=4)\no.default=16\nresult=vars(p.parse_args([]))\n",
    'an action that writes another option': "class A(argparse.Action):\n    def __call__(self,p,n,v,o=None):\n        n.device='mps'\np=argparse.ArgumentParser()\np.add_argument('--device',default='cpu')\np.add_argument('--gpu',nargs=0,action=A)\nresult=vars(p.parse_args(['--gpu']))\n",
    'an action that writes both': "class A(argparse.Action):\n    def __call__(self,p,n,v,o=None):\n        n.device='mps'; setattr(n,self.dest,v*2)\np=argparse.ArgumentParser()\np.add_argument('--device',default='cpu')\np.add_argument('--bs',type=int,default=4,action=A)\nresult=vars(p.parse_args(['--bs','3']))\n",
    'sixty parents': "p=argparse.ArgumentParser(add_help=False)\np.add_argument('--a',default=1,type=int)\nfor i in range(60):\n    p=argparse.ArgumentParser(add_help=False,parents=[p])\np.set_defaults(a=3)\nresult=vars(p.parse_args([]))\n",
    'parents of parents': "p=argparse.ArgumentParser(add_help=False)\np.add_argument('--a',default=1,type=int)\nq=argparse.ArgumentParser(add_help=False,parents=[p])\nr=argparse.ArgumentParser(parents=[q])\nr.set_defaults(a=3)\nresult={'p':p.parse_args([]).a,'q':q.parse_args([]).a,'r':r.parse_args([]).a}\n",
    'a loop over actions that writes a default': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4)\nfor a in p._actions:\n    if a.dest == 'bs':\n        a.default = 9\nresult=vars(p.parse_args([]))\n",
    'a loop over actions that reads': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4)\nfound={}\nfor a in p._actions:\n    found[a.dest]=a.default\nresult=dict(vars(p.parse_args([])), n=found['bs'])\n",
    'a loop over the actions of a group': "p = argparse.ArgumentParser()\ng=p.add_argument_group('x')\ng.add_argument('--bs',type=int,default=4)\nfor a in g._group_actions:\n    a.default=3\nresult=vars(p.parse_args([]))\n",
    'a loop over actions that requires none': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4,required=True)\nfor a in p._actions:\n    a.required=False\nresult=vars(p.parse_args([]))\n",
    'defaults for all actions': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4)\np.set_defaults(**{a.dest: 5 for a in p._actions if a.dest!='help'})\nresult=vars(p.parse_args([]))\n",
    'one that may be left out, and the rest': "p = argparse.ArgumentParser()\np.add_argument('--a',default=1)\np.add_argument('d',nargs='?',default='cpu')\np.add_argument('rest',nargs=argparse.REMAINDER)\nresult=vars(p.parse_args(['mps','--a','3']))\n",
    'one that is left out, and the rest': "p = argparse.ArgumentParser()\np.add_argument('--a',default=1)\np.add_argument('d',nargs='?',default='cpu')\np.add_argument('rest',nargs=argparse.REMAINDER)\nresult=vars(p.parse_args(['--a','3']))\n",
    'a script and the rest': "p = argparse.ArgumentParser()\np.add_argument('--a',type=int,default=1)\np.add_argument('script')\np.add_argument('rest',nargs=argparse.REMAINDER)\nresult=vars(p.parse_args(['--a','3','t.py','--a','4','x']))\n",
    'two and the rest with two dashes': "p = argparse.ArgumentParser()\np.add_argument('--a',type=int,default=1)\np.add_argument('script')\np.add_argument('other')\np.add_argument('rest',nargs=argparse.REMAINDER)\nresult=vars(p.parse_args(['--a','3','t.py','y','--','4','x']))\n",
    'two with an option between them, and the rest': "p = argparse.ArgumentParser()\np.add_argument('--a',type=int,default=1)\np.add_argument('script')\np.add_argument('other')\np.add_argument('rest',nargs=argparse.REMAINDER)\nresult=vars(p.parse_args(['t.py','--a','3','y','--a','4','x']))\n",
    'a flag that is a number behind a list': "p = argparse.ArgumentParser()\np.add_argument('--a',nargs='*')\np.add_argument('-1',dest='one',action='store_true')\nresult=vars(p.parse_args(['--a','3','-1']))\n",
    'a flag that is a number behind an option without a value': "p = argparse.ArgumentParser()\np.add_argument('--a',nargs='?',const='c',default='d')\np.add_argument('-1',dest='one',action='store_true')\nresult=vars(p.parse_args(['--a','-1']))\n",
    'a flag that is a number with a value': "p = argparse.ArgumentParser()\np.add_argument('--a',type=int,default=2)\np.add_argument('-1',dest='one',type=int,default=3)\nresult=vars(p.parse_args(['-1','4','--a=-2']))\n",
    'a number that is no flag beside one that is': "p = argparse.ArgumentParser()\np.add_argument('--a',nargs='*')\np.add_argument('-1',dest='one',action='store_true')\np.add_argument('b',nargs='?')\nresult=vars(p.parse_known_args(['--a','3','-2'])[0])\n",
    'the rest, of nothing': "p = argparse.ArgumentParser()\np.add_argument('rest',nargs='...')\np.add_argument('--lr',default=4)\nresult=vars(p.parse_args([]))\n",
    'two that may be left out': "p = argparse.ArgumentParser()\np.add_argument('a',nargs='?',default='q')\np.add_argument('b',nargs='?',default='w')\nresult=vars(p.parse_args(['x']))\n",
    'loops over the actions of a parser and a group': "p = argparse.ArgumentParser()\np.add_argument('--lr',default=2)\ng=p.add_argument_group('x')\ng.add_argument('--bs',type=int,default=4)\nh=p.add_mutually_exclusive_group()\nh.add_argument('--q',default=7)\nfor a in g._group_actions:\n    a.default=3\nfor a in p._actions:\n    if a.dest=='q': a.default=9\nresult=vars(p.parse_args([]))\n",
    'a loop over actions that writes help': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4)\nfor a in p._actions:\n    a.help = str(a.help)\nresult=vars(p.parse_args([]))\n",
    'a loop that writes the default of every action': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4)\nfor a in p._actions:\n    a.default=3\nresult=vars(p.parse_args([]))\n",
    'a loop that writes a destination': "p = argparse.ArgumentParser()\np.add_argument('--bs',type=int,default=4)\nfor a in p._actions:\n    if a.dest=='bs': a.dest='x'\nresult=vars(p.parse_args([]))\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_is_said_of_a_form_is_what_argparse_gives(form: str) -> None:
    code = f"import argparse\n{FORMS[form]}"
    wrong, _, every = differences(code)
    assert run(code) is not None
    assert every
    assert not wrong, code
