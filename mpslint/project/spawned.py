"""The commands that a Python program starts: `subprocess.run([sys.executable, "train.py", "--fp16"])`, `os.system("python train.py")`.

The text is parsed, and nothing of it followed, for it says which runs there are to be followed: a word is known where it is written in the
list, or by one assignment of a constant.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import field

from mpslint.config.groups import Group
from mpslint.config.shell import command_of, read_shell
from mpslint.config.shell_words import Shell, Word
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.source.document import Document

LARGEST = 200_000
"""Characters of a program that is parsed for what it starts."""
_PIECE = re.compile(r"[A-Za-z]{0,2}(\"\"\"|'''|\"|')(.*?)(?<!\\)\1", re.DOTALL)
_PUT_IN = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
_CONTINUED = re.compile(r"(\\\\|\\)\n")
"""The end of a line that Python joins to the next one, or (with two backslashes) that the shell does."""
_SHELL_CONTINUED = re.compile(r"\\\n")
UNSAID = "$?"
"""What stands in shell text for what is not known."""


def may_start(text: str) -> bool:
    """Return whether a Python text calls, or renames, a function that starts programs, and names a script."""
    return ".py" in text and any(module in text and function.search(text) is not None for module, function in _starters())


@functools.cache
def _starters() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The module of each function that starts programs, and the pattern of its name where it is called or renamed."""
    names = [name.rpartition(".") for name in platform_data("launchers")["functions"]]
    return tuple((module, re.compile(rf"{last}(?<!\w{last})(?:[\s\\]*\(|\s+as\b)")) for module, _, last in names)


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a Python text; None where it doesn't parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def groups_in_python(document: Document, offset: int = 0) -> Iterator[Group]:
    """Yield the commands that a Python text starts; `offset` is where it begins in a joined text."""
    if not may_start(document.python) or len(document.python) > LARGEST:
        return
    tree = parsed(document.python)
    if tree is not None:
        yield from _Program(document, tree, offset).groups()


@record(eq=False)
class _Program:
    """A Python text whose calls are looked at."""

    document: Document
    tree: ast.Module
    offset: int
    names: dict[str, str] = field(default_factory=dict)
    """What is imported under which name."""
    values: dict[str, list[ast.Assign | ast.AnnAssign]] = field(default_factory=dict)
    """The statements that give names a value, in the order of the text."""
    above: dict[ast.AST, tuple[ast.AST, str]] = field(default_factory=dict)
    """What each node is part of, and as which field of it."""
    unsettled: set[tuple[int, str]] = field(default_factory=set)
    """Names that parameters, loops and the like give values to, by their scope."""
    changed: set[str] = field(default_factory=set)
    """Names of lists that grow."""

    def groups(self) -> Iterator[Group]:
        """Yield the commands that are started, in the order of the text as far as blocks do not nest."""
        nodes = list(ast.walk(self.tree))
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                self.names.update({alias.asname or alias.name: above + alias.name for alias in node.names})
        functions = frozenset(platform_data("launchers")["functions"])
        calls = [node for node in nodes if isinstance(node, ast.Call) and self._name_of(node.func) in functions]
        if not calls:
            return  # what encloses and changes what is of interest only around such a call
        self._learn(nodes)
        for call in calls:
            if call.lineno not in self.document.unreached:
                yield from self._started(call)

    def _learn(self, nodes: Sequence[ast.AST]) -> None:
        """Note what is part of what, and what gives names their values."""
        for node in nodes:
            for name, value in ast.iter_fields(node):
                self.above.update(
                    {one: (node, name) for one in (value if isinstance(value, list) else (value,)) if isinstance(one, ast.AST)}
                )
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        self.values.setdefault(target.id, []).append(node)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.changed.add(node.target.id)
            elif isinstance(node, ast.Call) and (grown := _grown(node.func)) is not None:
                self.changed.add(grown)
        for node in self.above:
            is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            if isinstance(node, ast.arg):
                self.unsettled.add((id(self._scope(node)), node.arg))
            elif (
                is_bound and isinstance(node, ast.Name) and not isinstance(self.above[node][0], (ast.Assign, ast.AnnAssign, ast.AugAssign))
            ):
                self.unsettled.add((id(self._scope(node)), node.id))

    def _value_of(self, name: ast.Name) -> ast.expr | None:
        """Return what a name was last given before it is used, in its function or else in the module; None where a branch decides that."""
        for scope in (self._scope(name), self.tree):
            if (id(scope), name.id) in self.unsettled:
                return None
            given = sorted((one for one in self.values.get(name.id, ()) if self._scope(one) is scope), key=lambda one: one.lineno)
            before = [one for one in given if one.lineno < name.lineno]
            if given and (not before or not self._blocks(before[-1]) <= self._blocks(name)):
                return None
            if before:
                return before[-1].value if scope is not self.tree or self._scope(name) is scope or len(given) == 1 else None
        return None

    def _scope(self, node: ast.AST) -> ast.AST:
        while node in self.above:
            node = self.above[node][0]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                return node
        return self.tree

    def _blocks(self, node: ast.AST) -> set[tuple[int, str]]:
        """Return the blocks of statements that a node stands in."""
        found = set()
        while node in self.above:
            inner, (node, name) = node, self.above[node]
            if isinstance(inner, (ast.stmt, ast.excepthandler)):
                found.add((id(node), name))
        return found

    def _name_of(self, node: ast.expr) -> str:
        """Return the dotted name of what an expression names, by the imports; '' for anything else."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            above = self._name_of(node.value)
            return f"{above}.{node.attr}" if above else ""
        return ""

    def _started(self, call: ast.Call) -> Iterator[Group]:
        given = {one.arg: one.value for one in call.keywords if one.arg}
        first = call.args[0] if call.args else given.get("args")
        if first is None:
            return
        folder = given.get("cwd")
        where = folder.value if isinstance(folder, ast.Constant) and isinstance(folder.value, str) else "" if folder is None else UNSAID
        if isinstance(first, ast.Name):
            grows = first.id in self.changed
            value = self._value_of(first)
            if value is None:
                return
            first = value
            if grows and isinstance(first, (ast.List, ast.Tuple)):
                yield from self._of_list([*first.elts, ast.Name("")], where)
                return
        if isinstance(first, ast.Call) and self._name_of(first.func) in platform_data("launchers")["splitters"] and first.args:
            first = first.args[0]
        if isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add) and isinstance(first.left, ast.List):
            more = first.right.elts if isinstance(first.right, ast.List) else [ast.Name("")]
            yield from self._of_list([*first.left.elts, *more], where)
        elif isinstance(first, (ast.List, ast.Tuple)):
            yield from self._of_list(first.elts, where)
        elif isinstance(first, (ast.Constant, ast.JoinedStr)):
            found = self._text_of(first)
            if found is not None:
                yield Group(read_shell(found[0], self.offset + found[1]).commands, where)

    def _of_list(self, elements: Sequence[ast.expr], folder: str) -> Iterator[Group]:
        shell = Shell(self.document.python, self.offset)
        command = command_of([self._word(one) for one in elements], shell)
        if command is not None:
            yield Group((command,), folder)

    def _word(self, node: ast.expr) -> Word:
        """Return an element of a list as a word, with where its text stands: in the list, or in the assignment of its name."""
        place = self._place(node)
        if self._name_of(node) in platform_data("launchers")["interpreters"]:
            return Word("python", "python", place.start, place)
        if isinstance(node, ast.Name) and node in self.above and node.id not in self.changed:
            node = self._value_of(node) or node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1:
            node = node.args[0]
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            span = self._place(node)
            return Word(str(node.value), self.document.python[span.start - self.offset : span.end - self.offset], span.start, place)
        found = self._text_of(node)
        if found is None:
            return Word(None, UNSAID, place.start, place)
        text, start = found
        return Word(None if UNSAID in text else text, text, self.offset + start, place)

    def _text_of(self, node: ast.expr) -> tuple[str, int] | None:
        """Return the text of a string as it stands between its quotes, and its offset; None for what has escapes, or no string.

        What an f-string puts in is UNSAID, and the quotes between its pieces are blank, at the same length.
        """
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if not is_text:
            return None
        place = self._place(node)
        start, end = place.start - self.offset, place.end - self.offset
        code = self.document.python
        pieces = list(_PIECE.finditer(code, start, end))
        if not pieces or pieces[-1].end() != end:
            return None
        found, begin = "", pieces[0].start(2)
        for piece in pieces:
            found += " " * (piece.start(2) - begin - len(found)) + _CONTINUED.sub(_joined, piece[2])
        if isinstance(node, ast.JoinedStr):
            if "{{" in found or "}}" in found or "\\" in _SHELL_CONTINUED.sub("", found):
                return None
            return _PUT_IN.sub(lambda match: UNSAID.ljust(len(match[0]), "_"), found), begin
        if "\\" in _SHELL_CONTINUED.sub("", found):
            return None
        if isinstance(node, ast.Constant) and _words_of(found) != _words_of(str(node.value)):
            return None
        return found, begin

    def _place(self, node: ast.expr) -> Span:
        if not hasattr(node, "end_lineno") or node.end_lineno is None or node.end_col_offset is None:
            return Span(self.offset, self.offset)
        start = self.document.offset(node.lineno, node.col_offset)
        return Span(self.offset + start, self.offset + self.document.offset(node.end_lineno, node.end_col_offset))


def _grown(function: ast.expr) -> str | None:
    """Return the name of the list that a call makes longer; None for any other call."""
    is_method = isinstance(function, ast.Attribute) and function.attr in ("append", "extend", "insert")
    return function.value.id if is_method and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else None


def _joined(match: re.Match[str]) -> str:
    """Return the end of a line as the shell gets it, at the same length."""
    return "  " if match[1] == "\\" else " \\\n"


def _words_of(text: str) -> list[str]:
    return _SHELL_CONTINUED.sub(" ", text).split()
