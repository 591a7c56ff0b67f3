"""Tokenizers that foreign code loads and this machine doesn't have.

Offline, transformers makes an empty one of them without an error, and a run of empty texts passes whatever it is. One that splits words
takes its place: it has the model's vocabulary size, special tokens and length limit, and every library works with it as with any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.settings.families import family_named
from mpslint.verify.child.torch_patches import Shortened

LONGEST = 7
"""Letters of a word that make one token at most. So split, four English texts gave 1.03 to 1.10 times the tokens of CLIP's tokenizer."""
WORDS = rf"\w{{1,{LONGEST}}}|[^\w\s]"
CHARACTERS = r"\S"
BYTE = 256
"""Entries below which a vocabulary holds single characters."""
SUFFIX = "_token"
CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def stand_in_for_missing(module: ModuleType, shortened: Shortened, left_out: tuple[str, ...]) -> None:
    """Have tokenizers that are not at hand be stood in for; `left_out` are options of loading that say nothing about the tokenizer."""
    base: Any = module.PreTrainedTokenizerBase
    original = base.from_pretrained.__func__

    def load(cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("gguf_file") or is_here(cls, str(name), kwargs):
            return original(cls, name, *args, **kwargs)
        try:
            made = _made(cls, str(name), {key: value for key, value in kwargs.items() if key not in left_out})
        except (OSError, ReadError, ValueError, AttributeError):
            raise ReadError(
                f"the tokenizer of {str(name)!r} isn't on this machine, and verify does not use the network: download it once "
                f"(`hf download {name}`), or name a folder that holds it"
            ) from None
        shortened.note(
            f"the tokenizer of {str(name)!r} isn't on this machine: a tokenizer of {'words' if len(made) > BYTE else 'characters'} with "
            f"{len(made)} entries replaces it, so lengths are estimates (`hf download {name}` gives the real ones)"
        )
        return made

    base.from_pretrained = classmethod(load)


def is_here(cls: Any, name: str, options: Mapping[str, Any]) -> bool:
    """Return whether a file of the tokenizer's vocabulary is at hand: beside the code, or in the cache."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    files = [Path(options.get("subfolder") or "", file) for file in cls.vocab_files_names.values() if file]
    if Path(name).exists() or not files:
        return True
    where = {"cache_dir": options.get("cache_dir"), "revision": options.get("revision")}
    try:
        return any(isinstance(try_to_load_from_cache(name, str(file), **where), str) for file in files)
    except HFValidationError:
        return True


def _made(cls: Any, name: str, options: dict[str, Any]) -> Any:
    """Return a tokenizer of words for the model of a name. Raises OSError or ReadError where that model isn't known."""
    import transformers
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors

    config = transformers.AutoConfig.from_pretrained(name)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    special = _special(cls, config) | {key: str(value) for key, value in options.items() if key.endswith(SUFFIX) and value}
    vocabulary = _vocabulary(special, config)
    ordinary = next(word for word in reversed(vocabulary) if word not in special.values())
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=ordinary))
    pattern = WORDS if len(vocabulary) > BYTE else CHARACTERS
    core.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    begin, end = special.get("cls_token", ""), special.get("sep_token", "")
    if not begin and getattr(config, "is_encoder_decoder", False):
        end = special.get("eos_token", "")
    if end:
        core.post_processor = processors.TemplateProcessing(
            single=[*filter(None, [begin]), "$A", end],
            pair=[*filter(None, [begin]), "$A", end, "$B:1", f"{end}:1"],
            special_tokens=[(word, vocabulary[word]) for word in dict.fromkeys(filter(None, [begin, end]))],
        )
    usual: dict[str, Any] = {"model_input_names": _inputs(cls, config), "padding_side": cls.padding_side, "chat_template": CHAT}
    limit = _limit(name, config)
    usual |= {"model_max_length": limit} if limit else {}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, name_or_path=name, **{**usual, **options, **special})


def _special(cls: Any, config: Any) -> dict[str, str]:
    """Return the special tokens that a class of tokenizers has by itself, and those that the model's configuration knows."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    usual = {one.name: str(one.default) for one in parameters if one.name.endswith(SUFFIX) and isinstance(one.default, str)}
    asked = ("pad_token",) if usual else ("bos_token", "eos_token", "pad_token")
    known = [name for name in asked if getattr(config, f"{name}_id", None) is not None]
    return {name: f"<{name.removesuffix(SUFFIX)}>" for name in known} | usual


def _vocabulary(special: Mapping[str, str], config: Any) -> dict[str, int]:
    """Return a vocabulary of the model's size, with the special tokens where the model expects them."""
    entries: dict[int, str] = {}
    for name, word in special.items():
        number = getattr(config, f"{name}_id", None)
        number = number[0] if isinstance(number, (list, tuple)) and number else number
        if isinstance(number, int) and 0 <= number < config.vocab_size and word not in entries.values():
            entries.setdefault(number, word)
    left = [word for word in dict.fromkeys(special.values()) if word not in entries.values()]
    for number in range(config.vocab_size):
        if number not in entries:
            entries[number] = left.pop(0) if left else f"word{number}"
    return {word: number for number, word in entries.items()}


def _inputs(cls: Any, config: Any) -> list[str]:
    """Return what the tokenizer gives: kinds of tokens only to a model that tells kinds apart."""
    return [name for name in cls.model_input_names if name != "token_type_ids" or getattr(config, "type_vocab_size", 0)]


def _limit(name: str, config: Any) -> int | None:
    """Return the tokens that `truncation=True` cuts to; None where the tokenizer has no limit."""
    family = family_named(name)
    own = getattr(config, "max_position_embeddings", None)
    return family.tokenizer_length if family is not None else own if isinstance(own, int) else None
