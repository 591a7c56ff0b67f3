"""Dataclasses that cost little to define and little to make: starting defines a hundred, and a check makes tens of thousands of objects.

`@record(frozen=True, slots=True)` is `@dataclass(frozen=True, slots=True)` to whoever checks types, and so it must be written. When it
runs, nothing guards against writing, and only the constructor is compiled: it takes a seventh of the time. `dataclasses.replace`, `fields`
and `asdict` work. A record derives from nothing but `object`, and its fields are all arguments of the constructor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    import dataclasses
    from operator import attrgetter

    class _Missing:
        """Stands for an argument that is not given."""

        def __repr__(self):
            return "..."

    _MISSING = _Missing()

    class _Fields:
        """The fields as `dataclasses` knows them, made of a real dataclass when something asks for them."""

        def __init__(self, namespace):
            self.namespace = namespace

        def __get__(self, instance, owner):
            real = dataclasses.dataclass(eq=False, repr=False)(type(owner.__name__, (), self.namespace))
            type.__setattr__(owner, "__dataclass_fields__", real.__dataclass_fields__)
            return real.__dataclass_fields__

    def record(*, frozen=False, slots=False, eq=True):
        """Return a decorator that makes a class a record; `frozen` only says that it can be a key, where it compares by its fields."""

        def made(cls):
            annotations = dict(cls.__annotations__)
            names = tuple(annotations)
            defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
            namespace = {
                key: value for key, value in cls.__dict__.items() if key not in defaults and key not in ("__dict__", "__weakref__")
            }
            namespace["__init__"] = _constructor(cls, names, defaults)
            namespace["__match_args__"] = names
            namespace["__dataclass_fields__"] = _Fields({"__annotations__": annotations, "__module__": cls.__module__, **defaults})
            namespace.setdefault("__repr__", _shown)
            if slots:
                namespace["__slots__"] = names
            if eq:
                namespace.update(_comparing(names, frozen))
            return type(cls)(cls.__name__, cls.__bases__, namespace)

        return made

    def _constructor(cls, names, defaults):
        """Return `__init__`: each field is an argument, by position or name."""
        arguments, lines, known = [], [], {}
        for name in names:
            arguments.append(name)
            value = name
            if name in defaults:
                default = defaults[name]
                if isinstance(default, dataclasses.Field) and default.default_factory is not dataclasses.MISSING:
                    known[f"_make_{name}"], default = default.default_factory, _MISSING
                    value = f"_make_{name}() if {name} is MISSING else {name}"
                elif isinstance(default, dataclasses.Field):
                    default = default.default
                if default is not dataclasses.MISSING:
                    known[f"_{name}"] = default
                    arguments[-1] = f"{name}=_{name}"
            lines.append(f" self.{name} = {value}")
        text = f"def __init__(self, {', '.join(arguments)}):\n" + "\n".join(lines)
        exec(text, {**known, "MISSING": _MISSING}, made := {})
        made["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return made["__init__"]

    def _comparing(names, frozen):
        """Return what compares two records of a class by their fields, and what makes one a key if it is frozen."""
        values = attrgetter(*names)

        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self):
            return hash(values(self))

        return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}

    def _shown(self):
        parts = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(parts)})"


__all__ = ["record"]
