"""A record is a dataclass in all that the project asks of one."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import field

import pytest

from mpslint.core.record import record


@record(frozen=True, slots=True)
class Point:
    """A record that is a key."""

    x: int
    y: int = 2
    """The second."""
    tags: list[str] = field(default_factory=list, repr=False)

    @property
    def sum(self) -> int:
        """Both together."""
        return self.x + self.y


@record(slots=True)
class Counter:
    """A record that changes."""

    number: int = 0


@record(frozen=True, eq=False)
class Alone:
    """A record that equals itself only."""

    name: str


def test_it_is_made_like_a_dataclass() -> None:
    """By position and by name, with defaults; a default that is made is made anew each time."""
    point = Point(1)

    assert (point.x, point.y, point.tags, point.sum) == (1, 2, [], 3)
    assert Point(y=5, x=1) == Point(1, 5)
    assert Point(1).tags is not point.tags
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_it_compares_by_its_fields_unless_told_otherwise() -> None:
    """A frozen one that compares is a key; one that changes is none."""
    assert Point(1, tags=["a"]) != Point(1)
    assert {Alone("a"): 1}.get(Alone("a")) is None
    assert hash(Alone("a"))
    assert Counter() == Counter()
    assert Counter() != Alone("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_the_functions_for_dataclasses_take_it() -> None:
    """`replace`, `fields` and `asdict` work, `is_dataclass` says so, and it can be sent to another process."""
    point = Point(1, 3, ["a"])

    assert dataclasses.is_dataclass(point)
    assert dataclasses.replace(point, x=2) == Point(2, 3, ["a"])
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "tags"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 3, "tags": ["a"]}
    assert pickle.loads(pickle.dumps(point)) == point
    assert repr(point) == "Point(x=1, y=3)"
    match point:
        case Point(x, y):
            assert (x, y) == (1, 3)


def test_slots_keep_out_what_is_no_field() -> None:
    """As many of them are made, they have no dict."""
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]
    assert not hasattr(Counter(), "__dict__")


def test_a_field_may_have_the_name_of_what_stands_for_no_argument() -> None:
    @record(slots=True)
    class Condition:
        missing: bool | None = None
        names: list[str] = field(default_factory=list)

    assert Condition().missing is None
    assert Condition().names == []
