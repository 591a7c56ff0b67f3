"""pydantic, 1 and 2: objects of keywords, whose methods see what the fields are given, and change it. What 2 refuses is as 1 has it
(`model_config` is `Config` there, `field_validator` is `validator`, `model_validator` is `root_validator`)."""

from stubs._words import LIST, switch
from stubs.host import (
    at,
    attribute,
    call,
    call_own,
    call_with,
    class_of,
    decorated,
    dict_of,
    field_class,
    field_default,
    field_kind,
    field_notes,
    fields_of,
    finish,
    instantiate,
    is_complete,
    is_dict,
    is_known,
    is_open,
    is_own_class,
    items,
    listed,
    made_by,
    may_raise,
    named_by,
    number,
    overridable,
    plain,
    refuse,
    set_attribute,
    slots,
    unknown,
    variables_in_file,
)

WHEN = {"field_validator": "after", "validator": "after", "model_validator": "after", "root_validator": "entries"}
OF_THE_WHOLE = ("model_validator", "root_validator")
IN_ANNOTATIONS = {"BeforeValidator": "before", "AfterValidator": "after", "PlainValidator": "plain", "WrapValidator": "wrap"}
CHECKS_DEFAULTS = ("validate_default", "validate_all", "always")
TAKES_NAMES = ("populate_by_name", "validate_by_name", "allow_population_by_field_name")
NAMED = ("validation_alias", "alias")
CHANGES_TEXT = ("str_", "anystr_", "alias_generator")
PATTERNS = ("pattern", "regex")
NUMBERS = {"builtins.int": int, "builtins.float": float}


class BaseModel:
    keeps_nothing = True
    is_elsewhere = False
    """Whether the environment may say what a field is."""

    def __init__(self, *given, **named):
        model = Model(class_of(self))
        by_position = dict(zip(model.names, given, strict=False))
        model.fill(self, {**by_position, **{name: one for name, one in named.items() if name[:1] != "_"}}, not is_open(), self.is_elsewhere)

    def model_validate(self, obj=None, **more):
        """Return the object that a class makes of a dict."""
        if obj is not None and is_own_class(class_of(obj)):
            return obj
        return instantiate(self, slots(obj) if is_dict(obj) else {}, not is_dict(obj) or not is_complete(obj))

    parse_obj = model_validate

    def model_dump(self, *given, **more):
        return as_dict(self, not given and not more)

    dict = model_dump


class BaseSettings(BaseModel):
    """A model whose fields the environment may give, or a file of variables."""

    is_elsewhere = True


def ConfigDict(**named):
    return dict_of(named, not is_open())


def as_dict(model, is_all):
    """Return the fields of a model, and of those in it, as a dict; not all where something says which."""
    found = {}
    for name in fields_of(class_of(model)):
        value = attribute(model, name, field_default(class_of(model), name))
        found[name] = unknown if value is None else as_dict(value, is_all) if fields_of(class_of(value)) else value
    return dict_of(found if is_all else {}, is_all)


class Model:
    """What a class says of its fields, and of the methods that see them."""

    def __init__(self, cls):
        self.cls = cls
        self.names = [name for name in fields_of(cls) if name[:1] != "_" and name not in ("model_config", "Config")]
        self.config = {}
        for name in ("model_config", "Config"):
            found = field_default(cls, name)
            self.config.update(slots(found) if found is not None else {})
        self.variables = {name.lower(): one for name, one in variables_in_file(self.config.get("env_file")).items()}
        self.prefix = plain(self.config.get("env_prefix"), "") or ""
        self.of_fields = []
        self.of_the_whole = []
        for name, method, decorators in decorated(cls):
            for decorator in decorators:
                called, given, named = made_by(decorator)
                kind = called.split(".")[-1]
                if called.startswith("pydantic.") and kind in WHEN:
                    when = "before" if says(named, ["pre"]) else plain(named.get("mode"), "wrap") or WHEN[kind]
                    if kind in OF_THE_WHOLE:
                        self.of_the_whole.append((name, method, when))
                    else:
                        when = "wrap" if "each_item" in named else when
                        self.of_fields.append((when, method, [plain(one, "") for one in given], says(named, CHECKS_DEFAULTS)))

    def fill(self, made, given, is_all, is_elsewhere):
        """Give an object its fields: by what a call gives, after the methods that see it before, else by default."""
        for _, method, when in reversed(self.of_the_whole):
            if when in ("before", "wrap"):
                entries = call_with(method, {}, True, [dict_of(given, is_all)]) if when == "before" else unknown
                given = slots(entries) if is_dict(entries) else {name: unknown for name in self.names}
                is_all = is_dict(entries) and is_complete(entries)
        taken = []
        for name in self.names:
            notes = field_notes(self.cls, name)
            names = self.keys(name, notes)
            keys = [key for key in names if key in given]
            variables = [f"{self.prefix}{name}".lower() if one == name else one.lower() for one in names]
            said = [self.variables[one] for one in variables if one in self.variables]
            default = said[0] if said else field_default(self.cls, name)
            taken = taken + keys[:1]
            if keys:
                set_attribute(made, name, self.checked(name, notes, given[keys[0]]))
            elif default is None:
                if is_all and not is_elsewhere:
                    may_raise()
                set_attribute(made, name, unknown)
            else:
                checks = [one for one in self.steps(name, notes) if one[2]] + [one for one in notes if says(one[2], CHECKS_DEFAULTS)]
                default = call(named_by("copy.deepcopy"), default) if is_own_class(class_of(default)) else default
                if (
                    checks
                    or says(self.config, CHECKS_DEFAULTS)
                    or (is_elsewhere and not [one for one in CHECKS_DEFAULTS if one in self.config])
                ):
                    default = self.checked(name, notes, default)
                set_attribute(made, name, default if is_all and not is_elsewhere else overridable(default))
        for key, value in given.items() if plain(self.config.get("extra"), "") == "allow" else []:
            if key not in taken:
                set_attribute(made, key, unknown if key in self.names else value)
        if len(given) > len(taken):
            may_raise()
        finish(made)
        for name, method, when in self.of_the_whole:
            if when == "entries":
                entries = call_with(method, {}, True, [dict_of({one: attribute(made, one, unknown) for one in self.names}, True)])
                for one in self.names:
                    set_attribute(made, one, slots(entries).get(one, unknown))
            elif when == "after":
                call_own(made, name)

    def keys(self, name, notes):
        """Return the names under which a field is given, the first one that counts first."""
        found = []
        for _, _, named in reversed(notes):
            for said in [named[one] for one in NAMED if one in named and not found]:
                called, several, _ = made_by(said)
                found = [plain(one, "") for one in (several if called.endswith("AliasChoices") else [said])]
        return found + ([name] if not found or says(self.config, TAKES_NAMES) else [])

    def steps(self, name, notes):
        """Return what a field's value goes through: when, the function, and whether its default does, too."""
        noted = [(IN_ANNOTATIONS[called.split(".")[-1]], given[0], False) for called, given, _ in notes if is_validator(called) and given]
        return noted + [(when, method, is_always) for when, method, names, is_always in self.of_fields if name in names or "*" in names]

    def checked(self, name, notes, value):
        """Return what a field holds that is given a value."""
        for pattern in [one[2][key] for one in notes for key in PATTERNS if key in one[2]]:
            refuse(pattern, value)
        others = [called for called, _, _ in notes if not is_validator(called) and not called.endswith("Field")]
        is_changed = others or [one for one in self.config if one.startswith(CHANGES_TEXT)]
        return self.through(self.steps(name, notes), name, value, is_changed)

    def through(self, steps, name, value, is_changed):
        if not steps:
            return unknown if is_changed and isinstance(plain(value, None), str) else self.converted(name, value)
        *inner, (when, function, _) = steps
        if when == "before":
            return self.through(inner, name, call_with(function, {}, True, [value]), is_changed)
        if when == "plain":
            return call_with(function, {}, True, [value])
        return call_with(function, {}, True, [self.through(inner, name, value, is_changed)]) if when == "after" else unknown

    def converted(self, name, value):
        """Return a value as the annotation of a field has it."""
        inner = field_class(self.cls, name)
        if inner is not None and is_dict(value):
            return instantiate(inner, slots(value), not is_complete(value), False)
        if inner is not None:
            return call(inner, value) if is_known(value) and plain(value) is not None else value
        kind = field_kind(self.cls, name)
        if kind.startswith(LIST) and items(value) and is_complete(value):
            return listed([as_kind(one, kind.removeprefix(LIST)) for one in items(value)], value)
        return as_kind(value, kind)


def is_validator(name):
    return name.startswith("pydantic.") and name.split(".")[-1] in IN_ANNOTATIONS


def says(named, names):
    """Return whether one of some options is on."""
    return [one for one in names if plain(named.get(one), None) is True] != []


def as_kind(value, kind):
    """Return a constant as a kind of value, which may be one already; unknown for what is none, which raises."""
    said = plain(value, None)
    if said is None or kind == "":
        return value
    if kind == "builtins.str":
        return value if isinstance(said, str) else at(str(said), value)
    if kind == "builtins.bool":
        found = said if isinstance(said, bool) else switch(str(said).removesuffix(".0"))
    elif kind not in NUMBERS or (isinstance(said, NUMBERS[kind]) and not isinstance(said, bool)):
        return value
    else:
        found = number(said, NUMBERS[kind]) if isinstance(said, str) else NUMBERS[kind](said)
        if found is None and kind == "builtins.int":
            real = number(said, float)
            found = int(real) if real is not None and real == int(real) else None
    if found is None:
        may_raise()
    return value if found is said else unknown if found is None else at(found, value)
