"""Branches, loops, `with`, `try` and `match`: which paths the Target takes, and what holds whichever is taken."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.facts.facts import Choice, Handler
from mpslint.facts.joined import truth
from mpslint.facts.values import LOOP, UNKNOWN, Class, Guard, Items, Known, Symbol, Value, is_weak
from mpslint.program import bags
from mpslint.program.assignments import assign
from mpslint.program.comprehensions import assign_loop_target, bind_loop_target
from mpslint.program.machine import Walker
from mpslint.program.rounds import rounds_of
from mpslint.program.store import Writes
from mpslint.program.walk import children, walk
from mpslint.source.unreached import takes

ENDS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit"})
"""Calls after which nothing runs."""
IMPORT_ERRORS = frozenset({"", "builtins.ImportError", "builtins.ModuleNotFoundError", "builtins.Exception", "builtins.BaseException"})
"""What catches the error of an import."""
LONGEST_READ = 3
"""Statements of a `try` block that reads a configuration file and does little else."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def if_statement(m: Walker, node: ast.If) -> bool:
    """Walk the branch that the Target takes, or both where that is not known; return whether the path ends here."""
    return _after_test(m, node, m.value(node.test))


def _after_test(m: Walker, node: ast.If, test: Value) -> bool:
    """Walk the rest of an `if` whose test was evaluated."""
    answer = m.truth(test)
    if asks_for_main(node):
        with m.within(under_main=True):
            return m.execute_block(m, node.body if answer is not False else node.orelse)
    if answer is None:
        return _undecided(m, node)
    if is_weak(test):
        return _by_default(m, node, answer)
    if isinstance(test, Known) and test.source and not m.is_silent:
        m.facts.choices.append(Choice(node, test.source, answer, None, m.context))
    return m.execute_block(m, node.body if answer else node.orelse)


def ends_program(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block ends in a `raise` or in a call after which nothing runs."""
    last = body[-1] if body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ENDS or ast.unparse(last.value.func) in ("exit", "quit")
    return isinstance(last, ast.Raise)


def asks_for_main(node: ast.stmt) -> bool:
    """Return whether a statement is `if __name__ == ...`."""
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _undecided(m: Walker, node: ast.If) -> bool:
    """Walk both ways, each as if the other were not there, and keep what holds either way."""
    returned = len(m.returns[-1]) if m.returns else 0
    paths = _branches(m, node)
    (first_leaves, _), *others = paths
    going_on = [writes for leaves, writes in paths if not leaves]
    if not going_on:
        return True
    m.store.merge_nested(going_on)
    if m.returns and len(m.returns[-1]) > returned:
        m.departed += [writes for leaves, writes in paths if leaves]
    if first_leaves or all(leaves for leaves, _ in others):
        guard_rest(m, Guard(node.test, not first_leaves, is_check=ends_program(node.body if first_leaves else node.orelse)))
    elif guard := _one_before_exit(node):
        guard_rest(m, guard)
    return False


def _branches(m: Walker, node: ast.If) -> list[tuple[bool, Writes]]:
    """Walk the branches of a chain of `elif` under undecided tests, and return whether each leaves, and what it wrote.

    They are walked side by side: one inside the other, each would write anew what all those below it wrote. From a test that writes
    something (`elif (n := f()):`) or that is decided, the rest of the chain is one branch.
    """
    paths = []
    before = m.context
    try:
        while True:
            with m.guarded(node.test, True):
                paths.append(_path(m, lambda node=node: m.execute_block(m, node.body)))  # type: ignore[misc]
            m.context = m.context.changed(guards=(*m.context.guards, Guard(node.test, False)))
            following = node.orelse[0] if len(node.orelse) == 1 else None
            if not isinstance(following, ast.If):
                paths.append(_path(m, lambda node=node: m.execute_block(m, node.orelse)))  # type: ignore[misc]
                return paths
            m.steps += 1
            m.store.begin()
            try:
                test = m.value(following.test)
                is_branch = not m.store.journals[-1] and m.truth(test) is None and not asks_for_main(following)
                leaves = is_branch or _after_test(m, following, test)
            finally:
                writes = m.store.undo()
            if not is_branch:
                paths.append((leaves, writes))
                return paths
            node = following
    finally:
        m.context = before


def _path(m: Walker, walk_it: Callable[[], bool]) -> tuple[bool, Writes]:
    """Walk something as a path of its own; return whether it leaves, and what it wrote, which is undone."""
    m.store.begin()
    try:
        leaves = walk_it()
    finally:
        writes = m.store.undo()
    return leaves, writes


def _one_before_exit(node: ast.If) -> Guard | None:
    """Return what holds after a chain of `elif` that ends in an `else` that leaves: one of its tests is true."""
    tests, orelse = [node.test], node.orelse
    while len(orelse) == 1 and isinstance(orelse[0], ast.If):
        tests.append(orelse[0].test)
        orelse = orelse[0].orelse
    leaves = bool(orelse) and isinstance(orelse[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
    any_true = ast.copy_location(ast.BoolOp(ast.Or(), tests), tests[0])
    return Guard(any_true, True, is_check=ends_program(orelse)) if leaves and len(tests) > 1 else None


def guard_rest(m: Walker, guard: Guard) -> None:
    """The statements after an `if` that left run under its other answer (`execute` puts the context back at its end)."""
    m.context = m.context.changed(guards=(*m.context.guards, guard))


def _by_default(m: Walker, node: ast.If, answer: bool) -> bool:
    """Walk the path that no option takes for its facts only, then the default one."""
    taken, other = (node.body, node.orelse) if answer else (node.orelse, node.body)
    departed = len(m.departed)
    returned = len(m.returns[-1]) if m.returns else 0
    m.store.begin()
    try:
        with m.guarded(node.test, not answer, answer):
            other_leaves = m.execute_block(m, other)
    finally:
        writes = m.store.undo()
        del m.departed[departed:]  # where no default leads, nothing is left behind
    if m.returns:
        del m.returns[-1][returned:]  # and nothing is given back
    m.store.begin()
    try:
        with m.guarded(node.test, answer, answer):
            leaves = m.execute_block(m, taken)
    finally:
        default_writes = m.store.undo()
    if leaves and not other_leaves:
        m.store.redo(writes)
        guard_rest(m, Guard(node.test, not answer, answer))
        return False
    m.store.redo(default_writes)
    guard = _one_before_exit(node) if not answer and not leaves else None
    if guard is not None and isinstance(guard.test, ast.BoolOp) and any(_is_undecided(m, test) for test in guard.test.values[1:]):
        guard_rest(m, guard)
    return leaves


def _is_undecided(m: Walker, test: ast.expr) -> bool:
    """Return whether nothing decides a test, looked at once more."""
    before, m.is_silent = m.is_silent, True
    try:
        return m.truth(m.value(test)) is None
    finally:
        m.is_silent = before


def for_loop(m: Walker, node: ast.For | ast.AsyncFor) -> bool:
    """Walk the body of a `for` once, as any round of it."""
    iterated = m.value(node.iter)
    rounds = bags.copied_entries(m, node)
    if not m.is_silent:
        m.facts.loops.append((node, iterated, m.context))
    if rounds is not None:
        return _copy_entries(m, node, rounds)
    if (few := rounds_of(node, iterated)) is not None:
        return _walk_rounds(m, node, few)
    runs = isinstance(iterated, Items) and bool(iterated.slots) and not iterated.open
    return _loop(m, node, lambda: assign_loop_target(m, node.target, iterated), runs)


def _copy_entries(m: Walker, node: ast.For | ast.AsyncFor, rounds: Sequence[Value]) -> bool:
    """Walk every round of a loop that writes the entries of a dict as attributes; what else it does is noted once."""
    before = m.is_silent
    for number, one in enumerate(rounds, 1):
        m.is_silent = before or number < len(rounds)
        try:
            bind_loop_target(m, node.target, one)
            with m.within(loops=(*m.context.loops, node)):
                m.execute_block(m, node.body)
        finally:
            m.is_silent = before
    return False


def _walk_rounds(m: Walker, node: ast.For | ast.AsyncFor, rounds: Sequence[Value]) -> bool:
    """Walk every round of a loop; what it does is noted in the first. Return whether the path ends in one."""
    before = m.is_silent
    for number, one in enumerate(rounds):
        m.is_silent = before or number > 0
        try:
            bind_loop_target(m, node.target, one)
            with m.within(loops=(*m.context.loops, node)):
                leaves = m.execute_block(m, node.body)
        finally:
            m.is_silent = before
        if leaves:
            return True
    return m.execute_block(m, node.orelse)


def while_loop(m: Walker, node: ast.While) -> bool:
    """Walk the body of a `while` once, as any round of it; not at all where its test is false."""
    test = m.value(node.test)
    answer = truth(test)
    if answer is False and not is_weak(test):
        return m.execute_block(m, node.orelse)
    if not m.is_silent:
        m.facts.loops.append((node, UNKNOWN, m.context))
    return _loop(m, node, lambda: None, answer is True)


def _loop(m: Walker, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], None], runs: bool) -> bool:
    """Walk a loop's body once, knowing nothing of the names it assigns, as it may be any round but the first."""
    m.store.begin()
    try:
        for name in _assigned_in(m, node):
            if name in m.frame.slots:
                m.store.write(m.frame.slots, name, LOOP)
        begin()
        with m.within(loops=(*m.context.loops, node)):
            m.execute_block(m, node.body)
    finally:
        writes = m.store.undo()
    if runs:
        m.store.redo(writes)
    else:
        m.store.merge(writes, {})
    m.execute_block(m, node.orelse)
    return False


def _assigned_in(m: Walker, node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Return the names that a loop's body assigns, those in nested functions left out."""
    known = vars(node)  # the runs of a project walk the same nodes
    if "assigned_in" not in known:
        below = children if ":=" in m.relevance.document.code else _assigning
        found: set[str] = set()
        stack: list[ast.AST] = list(node.body)
        while stack:
            inner = stack.pop()
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
            elif not isinstance(inner, SCOPES):
                stack += below(inner)
        known["assigned_in"] = frozenset(found)
    assigned: frozenset[str] = known["assigned_in"]
    return assigned


def _assigning(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a statement, or of a target, that may assign names: not its expressions, which most nodes are part of."""
    if isinstance(node, ast.Assign):
        return list(node.targets)
    if isinstance(node, (ast.Tuple, ast.List)):
        return list(node.elts)
    if isinstance(node, ast.withitem):
        return [node.optional_vars] if node.optional_vars is not None else []
    if isinstance(node, ast.expr):
        return [node.value] if isinstance(node, ast.Starred) else []
    target = getattr(node, "target", None)
    return [inner for inner in children(node) if inner is target or not isinstance(inner, ast.expr)]


def with_statement(m: Walker, node: ast.With | ast.AsyncWith) -> bool:
    """Walk a `with` block under its managers."""
    managers = m.context.managers
    for item in node.items:
        with m.within(managers=managers):
            value = m.value(item.context_expr)
        managers = (*managers, value)
        if item.optional_vars is not None:
            assign(m, item.optional_vars, value, item.context_expr, node)
    with m.within(managers=managers):
        return m.execute_block(m, node.body)


def try_statement(m: Walker, node: Any) -> bool:
    """Walk a `try` block and its handlers; what holds afterwards is what holds on every path that goes on.

    A configuration file that the run reads is there, so a short block that reads it goes on behind itself, not in its handlers.
    """
    read_before = m.project.configs_read if m.project is not None else 0
    caught = tuple(name for handler in node.handlers for name in _exceptions(m, handler))
    m.store.begin()
    try:
        with m.within(handlers=(*m.context.handlers, caught)):
            leaves = m.execute_block(m, node.body)
    finally:
        writes = m.store.undo()
    fails = not IMPORT_ERRORS.isdisjoint(caught) and any(_imports_absent(m, statement) for statement in node.body)
    imports_only = not fails and _only_imports(node.body)
    reads_config = m.project is not None and m.project.configs_read > read_before and len(node.body) <= LONGEST_READ and not leaves
    paths = []
    for handler in node.handlers:
        names = _exceptions(m, handler)
        if not m.is_silent:
            m.facts.handlers.append(Handler(handler, names, m.context))
        m.store.begin()
        before, m.is_silent = m.is_silent, m.is_silent or imports_only
        try:
            m.store.merge(writes, {})
            if handler.name:
                m.bind(handler.name, UNKNOWN)
            with m.within(in_handler=True):
                handler_leaves = m.execute_block(m, handler.body)
        finally:
            m.is_silent = before
            handler_writes = m.store.undo()
        if not (handler_leaves or imports_only or reads_config):
            paths.append(handler_writes)
    if not leaves and not fails:
        m.store.begin()
        try:
            m.store.redo(writes)
            leaves = m.execute_block(m, node.orelse)
        finally:
            normal_writes = m.store.undo()
        if not leaves:
            paths.insert(0, normal_writes)
    if paths:
        m.store.merge(*paths)
    finally_leaves = m.execute_block(m, node.finalbody)
    return finally_leaves or not paths


def _only_imports(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block imports, and otherwise only writes down that it did (`HAS_CONFIG = True`), which nothing stops."""
    rest = [statement for statement in body if not isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass))]
    noted = all(isinstance(one, (ast.Assign, ast.AnnAssign)) and isinstance(one.value, (ast.Constant, ast.Name)) for one in rest)
    return len(rest) < len(body) and noted and isinstance(body[0], (ast.Import, ast.ImportFrom))


def _imports_absent(m: Walker, statement: ast.stmt) -> bool:
    """Return whether a statement imports a module that no Mac has."""
    names = [statement.module or ""] if isinstance(statement, ast.ImportFrom) and not statement.level else []
    names += [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
    return any(map(m.platform.lacks, names))


def _exceptions(m: Walker, handler: ast.ExceptHandler) -> tuple[str, ...]:
    """Return the qualified names that an `except` clause catches; '' for one that catches everything."""
    if handler.type is None:
        return ("",)
    value = m.value(handler.type)
    values = value.values() if isinstance(value, Items) else [value]
    return tuple(v.name if isinstance(v, Symbol) else v.node.name if isinstance(v, Class) else "?" for v in values)


def match_statement(m: Walker, node: Any) -> bool:
    """Walk the case of a `match` that the Target takes, or every one that it may take, as if the others were not there."""
    subject = m.value(node.subject)
    paths: list[Any] = [{}]
    for case in node.cases:
        fits = takes(case, subject.value) if isinstance(subject, Known) and not subject.weak else None
        if fits is False:
            continue
        if fits and len(paths) == 1:
            return m.execute_block(m, case.body)
        m.store.begin()
        try:
            for inner in walk(case.pattern):
                name = getattr(inner, "name", None) or getattr(inner, "rest", None)
                if isinstance(name, str):
                    m.bind(name, UNKNOWN)
            with m.guarded(node.subject, True):
                leaves = m.execute_block(m, case.body)
        finally:
            writes = m.store.undo()
        if not leaves:
            paths.insert(-1, writes)
    m.store.merge(*paths)
    return False
