"""Each format's own comments are found, and nothing that only looks like one. `#y` is a comment in these texts, `#n` is none."""

from __future__ import annotations

import re

import pytest

from mpslint.config.comments import comments_in
from mpslint.config.shell_comments import shell_comments
from mpslint.source.document import Kind

SHELL = [
    "echo a #y b\n  #y\n;#y\n(#y\na)#y\n",
    "echo 'a #n' \"b #n\" a#n $# ${x#n} ${#n} \\#n $'it\\'s #n' $(( 16#n )) `a`#n $(b)#n\n#y\n",
    "echo \"a\n#n\n\" '\n#n\n' #y\n",
    "cat <<EOF > x #y\n#n\n EOF\nEOF\n#y\n",
    "cat <<-'E F' <<\"B\"; echo #y\n#n\n\tE F\n#n\nB\n#y\n",
    'x="$(a "b #n" c)" #y\ny="$(a #y\n)" #y\nz="${x:-a #n} #n"\n',
    "cat <<< a #y\n((x = 1 << 2))\n#y\n[ $((1 << 2)) ] #y\n",
    "x=`a #y` #y\n",
    "x=$(case $y in a) echo 'b #n';; (b) c;; esac) #y\ncase $z in a) b;; esac #y\n",
    'echo "${x:-it\'s} #n" #y\n',
    "a\\\n#n\na \\\n#y\n",
    "A=(a b #y\n c#n)\n",
    'x="$(cat <<E\n#n \'\nE\n)" #y\n',
    "#y\necho 'never #n closed\n#n\n",
    "#y\ncat <<EOF\n#n\n",
    '#y it\'s "\n#y\r\necho "a #n"\r\n#y\r\n',
    ": ${X:=a #n} #y\n",
]
OTHERS = [
    (Kind.YAML, "#y\na: b #y\nc: a#n\nd: 'x #n'\ne: \"x #n\n  #n\"\nf: | #y\n  #n\n    #n\n#y\ng: >-\n  #n\n\n  #n\nh: &a 'x #n' #y\n"),
    (Kind.YAML, "- |\n  #n\n #y\n- !!str \"#n\" #y\n- [a, 'b #n', #y\n  c]\n"),
    (Kind.YAML, "a: b #y\nc: 'x #n\n#n\n"),
    (Kind.YAML, "#y\n"),
    (Kind.YAML, "on: push\njobs:\n  a:\n    runs-on: macos-15\n    steps:\n      - run: |\n          a #y\n          cat <<EOF\n          #n\n          EOF\n          b 'x #n' #y\n"),
    (Kind.JSON, '{"a": "x #n", "b": "#n"}\n'),
    (Kind.ENV, "#y\nA=x #y\nB='x #n' #y\nC=\"x #n\n#n\n\"\n  #y\nD=a#n\nE= #n\nexport F=it's #y\nG=\"a #n\n"),
    (Kind.DOCKERFILE, "#y\nLABEL a=\"x #n\"\nRUN a \\\n  #y\n  b #n\nRUN <<A cat > x\n#n\nA\n#y\nCOPY <<A <<-B /x/\n#n\nA\n#n\nB\n #y\n"),
    (Kind.MAKEFILE, "#y\nA = x #y\nB = a#n\nall: a #y\n\techo 'x #n' \"y #n\" > f #y\n\t#y\n\techo $$# $(x)#n\ndefine X\n#n\nendef\n#y\n"),
    (Kind.MAKEFILE, ".ONESHELL:\nall:\n\techo 'a\n\t#n\n\t'\n#y\n"),
]  # fmt: skip


def marks(text: str) -> list[int]:
    """Return where the text says that comments are."""
    return [match.start() for match in re.finditer("#y", text)]


@pytest.mark.parametrize("text", SHELL)
def test_shell(text: str) -> None:
    """As bash reads it; behind what never closes nothing is certain."""
    assert [span.start for span in shell_comments(text)] == marks(text)


@pytest.mark.parametrize(("kind", "text"), OTHERS)
def test_other_formats(kind: Kind, text: str) -> None:
    """Each by the rules of its own readers."""
    assert [span.start for span in comments_in(text, kind)] == marks(text)


def test_a_comment_ends_with_its_line() -> None:
    """In backquotes before the closing one."""
    text = "a # b 'c\r\nx=`a # b` c\n"

    assert [text[span.start : span.end] for span in shell_comments(text)] == ["# b 'c", "# b"]
