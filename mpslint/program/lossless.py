"""Rewrite a call without touching what is not meant: LibCST, on the expression alone.

Arguments are added the way the call already writes them: on a line of their own or not, with a trailing comma or not, comments kept.
"""

from __future__ import annotations

import libcst as cst

_ONE_SPACE = cst.SimpleWhitespace(" ")
_Whitespace = cst.BaseParenthesizableWhitespace


def with_argument(call: str, name: str, value: str, after: str = "") -> str | None:
    """Return the text of a call with `name=value` added; None when the text is no call.

    It goes to the end, or, in a call with a line for each argument, behind the keyword argument `after`.
    """
    node = _call(call)
    if node is None:
        return None
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    equal = next((arg.equal for arg in reversed(node.args) if isinstance(arg.equal, cst.AssignEqual)), tight)
    new = cst.Arg(value=cst.parse_expression(value), keyword=cst.Name(name), equal=equal)
    if not node.args:
        before = node.whitespace_before_args
        if not _has_comment(before):
            return _code(node.with_changes(args=[new], whitespace_before_args=cst.SimpleWhitespace("")), call)
        return _code(node.with_changes(args=[new.with_changes(whitespace_after_arg=_without_comment(before))]), call)
    *front, last = node.args
    separator = _separator([arg.comma for arg in front], node.whitespace_before_args)
    index = next((i for i, arg in enumerate(front) if arg.keyword is not None and arg.keyword.value == after), None)
    if index is not None and isinstance(separator, cst.ParenthesizedWhitespace) and _begins_line(front[index].comma):
        arguments = [*front[: index + 1], new.with_changes(comma=cst.Comma(whitespace_after=separator)), *front[index + 1 :], last]
        return _code(node.with_changes(args=arguments), call)
    if isinstance(last.comma, cst.Comma):
        kept, closing = _split_comment(last.comma.whitespace_after, separator)
        last = last.with_changes(comma=last.comma.with_changes(whitespace_after=kept))
        new = new.with_changes(comma=cst.Comma(whitespace_after=closing))
    else:
        kept, closing = _split_comment(last.whitespace_after_arg, separator)
        last = last.with_changes(comma=cst.Comma(whitespace_after=kept), whitespace_after_arg=cst.SimpleWhitespace(""))
        new = new.with_changes(whitespace_after_arg=closing)
    return _code(node.with_changes(args=[*front, last, new]), call)


def _begins_line(comma: cst.Comma | cst.MaybeSentinel) -> bool:
    """Return whether what follows a comma begins the next line, with nothing but the comma's own line end between."""
    whitespace = comma.whitespace_after if isinstance(comma, cst.Comma) else None
    return isinstance(whitespace, cst.ParenthesizedWhitespace) and not whitespace.empty_lines


def without_argument(call: str, index: int) -> str | None:
    """Return the text of a call without its argument number `index` (from 0); None when there is no such argument.

    A comment behind the argument goes with it; every other one stays.
    """
    node = _call(call)
    if node is None or not 0 <= index < len(node.args):
        return None
    arguments = list(node.args)
    removed = arguments.pop(index)
    previous = arguments[index - 1] if index > 0 else None
    is_last = index == len(arguments)
    before = node.whitespace_before_args
    if previous is not None and isinstance(previous.comma, cst.Comma):
        before = previous.comma.whitespace_after
    after = removed.comma.whitespace_after if isinstance(removed.comma, cst.Comma) else removed.whitespace_after_arg
    left = _left_between(before, after, previous is None, is_last)
    if previous is None:
        left = left if arguments or _has_comment(left) else cst.SimpleWhitespace("")
        return _code(node.with_changes(args=arguments, whitespace_before_args=left), call)
    if is_last and not isinstance(removed.comma, cst.Comma):
        arguments[-1] = previous.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=left)
    else:
        arguments[index - 1] = previous.with_changes(comma=cst.Comma(whitespace_after=left))
    return _code(node.with_changes(args=arguments), call)


def _left_between(before: _Whitespace, after: _Whitespace, is_first: bool, is_last: bool) -> _Whitespace:
    """Return what is left where an argument stood, of the whitespace before it and after it: a blank line only between lines."""
    if not isinstance(before, cst.ParenthesizedWhitespace):
        return after if is_last or _has_comment(after) else before
    if not isinstance(after, cst.ParenthesizedWhitespace):
        return after if is_last and not _has_comment(before) else before
    lines = [*before.empty_lines, *after.empty_lines]
    kept = [
        line
        for number, line in enumerate(lines)
        if line.comment is not None or not (is_last or (lines[number - 1].comment is None if number else is_first))
    ]
    return before.with_changes(empty_lines=kept, last_line=after.last_line)


def _has_comment(whitespace: _Whitespace) -> bool:
    if not isinstance(whitespace, cst.ParenthesizedWhitespace):
        return False
    return whitespace.first_line.comment is not None or any(line.comment is not None for line in whitespace.empty_lines)


def _parse(text: str) -> cst.BaseExpression | None:
    try:
        return cst.parse_expression(text)
    except (cst.ParserSyntaxError, RecursionError, UnicodeEncodeError):  # the last of half surrogate pairs, which it cannot hold
        return None


def _call(text: str) -> cst.Call | None:
    node = _parse(text)
    return node if isinstance(node, cst.Call) else None


def _code(node: cst.BaseExpression, text: str) -> str:
    return cst.Module([], default_newline="\r\n" if "\r\n" in text else "\n").code_for_node(node)


def _separator(commas: list[cst.Comma | cst.MaybeSentinel], opening: _Whitespace) -> _Whitespace:
    """Return the whitespace that stands between arguments: as between the last two, else as before the first."""
    if commas and isinstance(commas[-1], cst.Comma):
        return _without_comment(commas[-1].whitespace_after)
    return _without_comment(opening) if isinstance(opening, cst.ParenthesizedWhitespace) else _ONE_SPACE


def _without_comment(whitespace: _Whitespace) -> _Whitespace:
    if not isinstance(whitespace, cst.ParenthesizedWhitespace):
        return whitespace
    line = cst.TrailingWhitespace(newline=whitespace.first_line.newline)
    return whitespace.with_changes(first_line=line, empty_lines=[])


def _split_comment(closing: _Whitespace, separator: _Whitespace) -> tuple[_Whitespace, _Whitespace]:
    """Return what stands after the old last argument, and what after the new one: a comment stays with the old."""
    if not isinstance(closing, cst.ParenthesizedWhitespace):
        return separator, closing
    if not _has_comment(closing):
        return separator, closing
    indent = separator.last_line if isinstance(separator, cst.ParenthesizedWhitespace) else closing.last_line
    return closing.with_changes(last_line=indent), _without_comment(closing)
