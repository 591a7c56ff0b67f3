"""lightning.pytorch.cli: LightningCLI makes a Trainer, a model and data of configuration files (`--config`) and words
(`--trainer.precision 16`); a class of the program may set defaults and make one option say another."""

from stubs._configurations import below, on_top
from stubs._words import literals, named, text
from stubs.host import (
    another,
    call_own,
    call_value,
    entries,
    entries_in_file,
    has_own,
    is_class,
    made_by_call,
    named_by,
    overridable,
    plain,
    table,
    unknown,
    words_in,
)

TRAINER = "lightning.pytorch.cli.LightningCLI"
COMMANDS = ("fit", "validate", "test", "predict")


class Parser:
    """The parser that a class of the program gets: the defaults that it sets, and the options that it links."""

    def __init__(self):
        self.values = table()
        self.links = []

    def set_defaults(self, *given, **named):
        for entries_given in given:
            for key, value in (entries(entries_given) or {}).items():
                self.values[key] = value
        for key, value in named.items():
            self.values[key] = value

    def link_arguments(self, source: plain = None, target: plain = None, *rest, **more):
        self.links.append((source, target, not rest and not more))


class LightningCLI:
    is_begun = False

    def __init__(self, model_class=None, datamodule_class=None, *rest, **named):
        if has_own(self, "__init__") and not self.is_begun:
            self.is_begun = True
        else:
            is_told = "parser_kwargs" not in named and not has_own(self, "before_instantiate_classes")
            build(self, model_class, datamodule_class, named.get("trainer_defaults"), named.get("args"), is_told)


def build(cli, model_class, datamodule_class, trainer_defaults, args, is_told):
    """Call what makes each section, with what defaults, files and words say of it, in the order of the program's parameters; where these
    aren't told, files or the program may say something else."""
    sections, is_all = said(args)
    is_all = is_all and is_told
    parser = Parser()
    call_own(cli, "add_arguments_to_parser", another(parser, "lightning.pytorch.cli.LightningArgumentParser"))
    defaults = {}
    for key, value in parser.values.items():
        defaults = on_top(defaults, below(key, value))
    sections = on_top(defaults, sections)
    for source, target, is_plain in parser.links:
        value = at_path(sections, source) if is_plain and isinstance(source, str) else None
        if isinstance(target, str):
            sections = on_top(sections, below(target, unknown if value is None else value))
    trainer = on_top(entries(trainer_defaults) or {}, entries(sections.get("trainer")) or {})
    if "class_path" in trainer:
        make(unknown, trainer, is_all)
    else:
        made_by_call(TRAINER, kept(trainer, is_all), {}, not is_all)
    make(unknown if model_class is None else model_class, entries(sections.get("model")) or {}, is_all)
    make(unknown if datamodule_class is None else datamodule_class, entries(sections.get("data")) or {}, is_all)


def make(target, values, is_all):
    path = plain(values.get("class_path"))
    if isinstance(path, str):
        target = named_by(path)
        values = entries(values.get("init_args")) or {}
    if is_class(target):
        call_value(target, [], kept(values, is_all), not is_all)


def kept(values, is_all):
    return {key: value if is_all else overridable(value) for key, value in values.items()}


def at_path(sections, path):
    """Return the value at a dotted path; None where nothing says one."""
    first, *rest = path.split(".")
    found = sections.get(first)
    for name in rest:
        found = (entries(found) or {}).get(name)
    return found


def said(args):
    """Return what files that the words name, and then the words, say of each section; and whether that is all."""
    words, is_all = words_in(args)
    if words is None:
        return {}, False
    given = named(words)
    found = {}
    file = given.get("config", given.get("c"))
    commands = [text(word) for word in words if text(word) in COMMANDS]
    for path in file.values if file is not None else []:
        if text(path) in COMMANDS:
            continue
        values = entries_in_file(path)
        is_all = is_all and values is not None
        found = on_top(found, values or {})
        for command in commands:
            found = on_top(found, entries((values or {}).get(command)) or {})
    for key, value in literals(given).items():
        if "." in key:
            found = on_top(found, below(key, value))
    return found, is_all
