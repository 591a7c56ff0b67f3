"""Every message of the catalogue is recognised in the texts that people pasted, and in nothing else."""

from __future__ import annotations

import pytest

from mpslint.diagnose import Explained, Log, diagnose, memory_log, out_of_memory
from mpslint.diagnose.catalogue import NAME, OPERATOR, Message, catalogue
from mpslint.diagnose.compact import compact
from mpslint.diagnose.matching import filled
from mpslint.diagnose.named import NEVER, SINCE
from mpslint.rule.loading import load_rules
from tests.diagnose.pasted import SeenText, pasted
from tests.ordinary_log import ordinary_log

MESSAGES = list(catalogue().messages.values())
EXAMPLES = pasted()


def ids(value: object) -> str:
    """Return a readable name for a parameter."""
    return value.id if isinstance(value, Message) else value.source[:30] if isinstance(value, SeenText) else str(value)


@pytest.mark.parametrize(("message", "example"), EXAMPLES, ids=ids)
def test_a_pasted_text_is_its_own_message_and_no_other(message: Message, example: SeenText) -> None:
    """A text gives its message; another one only where the message says that it explains it; nothing stays unknown."""
    diagnosis = diagnose(Log("pasted", example.text))

    causes = [symptom.message.id for symptom in diagnosis.symptoms if not symptom.follows]
    assert causes == [message.id]
    assert all(symptom.follows in ("", message.id) for symptom in diagnosis.symptoms)
    assert diagnosis.unknown == ()
    if example.verdict:
        assert diagnosis.symptoms[0].memory is not None
        assert diagnosis.symptoms[0].memory.verdict == example.verdict


@pytest.mark.parametrize("message", MESSAGES, ids=ids)
def test_every_wording_has_a_text(message: Message) -> None:
    """No wording stands in the catalogue that no pasted text proves."""
    texts = [compact(example.text).text for own, example in EXAMPLES if own is message]

    for wording in message.wordings:
        assert any(wording.pattern.regex.search(text) for text in texts), wording.pattern.source


def test_all_texts_in_one_log_are_all_recognised() -> None:
    """Texts do not hide one another: a log that holds every text once gives every message."""
    log = "\n\n".join(example.text + "\n" + "unrelated line of training\n" * 40 for _, example in EXAMPLES)

    found = {symptom.message.id for symptom in diagnose(Log("all", log)).symptoms}

    assert found == set(catalogue().messages)


def test_ordinary_training_logs_hold_nothing() -> None:
    """10,000 ordinary lines, full of the words that errors use, match nothing."""
    diagnosis = diagnose(Log("ordinary", "\n".join(ordinary_log(10_000))))

    assert diagnosis.symptoms == ()
    assert diagnosis.memory_log is None
    assert diagnosis.outcome is Explained.UNKNOWN


def test_every_verdict_has_its_words() -> None:
    """Whatever the arithmetic decides, the catalogue explains, and with nothing to fill in but a name and its version."""
    by_version = {f"{message.id}-{end}" for message in MESSAGES if message.reader in (OPERATOR, NAME) for end in (SINCE, NEVER)}
    own = {value for one in (memory_log, out_of_memory) for name, value in vars(one).items() if name.isupper() and isinstance(value, str)}
    assert set(catalogue().verdicts) == {*own, *by_version}
    for name, explanation in catalogue().verdicts.items():
        captured = {"operator": "aten::mode", "attribute": "device", "instead": "Nothing.", "first": "2.9"} if name in by_version else {}
        assert filled(explanation, captured, {}).title


def test_texts_and_changes_are_there() -> None:
    """A cause says what to change; every message says where it was seen."""
    assert all(example.source for _, example in EXAMPLES)
    for message in MESSAGES:
        if message.role.value == "cause" and not message.reader:
            assert message.explanation.changes, message.id


def test_messages_name_rules_that_there_are() -> None:
    """The join with check goes by their ids."""
    shipped = {rule.id for rule in load_rules()}
    explanations = [message.explanation for message in MESSAGES] + list(catalogue().verdicts.values())

    assert {rule for explanation in explanations for rule in explanation.rules} <= shipped
