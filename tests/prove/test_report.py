"""The report of `tgraph.check`: a table that can be read, and an error with the same words."""

from __future__ import annotations

import pickle

import pytest

import tgraph as tg
from tgraph.prove import Property

GOOD = Property("message_monotonic", "proved", "messages keep their order")
BAD = Property("update_directed", "refuted", "an update never makes a value worse; not so for value=1", {"value": 1})
OPEN = Property("update_idempotent", "unknown", "update uses exp")
FACT = Property("never_improves", "refuted", "no message is better; not so for value=2", {"value": 2}, False)


def test_a_table() -> None:
    lines = str(tg.Check("Mine", "floats as real numbers", (GOOD, BAD, OPEN, FACT))).splitlines()
    assert lines[0] == "Mine: 1 of 3 proved, 1 refuted, 1 unknown (floats as real numbers)"
    assert [line.split()[:2] for line in lines[1:]] == [
        ["message_monotonic", "proved"],
        ["update_directed", "refuted"],
        ["update_idempotent", "unknown"],
        ["never_improves", "no"],
    ]


def test_long_words_are_wrapped() -> None:
    shown = str(tg.Check("Mine", "", (Property("message_monotonic", "proved", "word " * 60),)))
    assert max(len(line) for line in shown.splitlines()) <= 120


def test_a_fact_is_no_requirement() -> None:
    found = tg.Check("Mine", "", (GOOD, FACT))
    assert found.is_proved
    assert not found.refuted
    assert found.never_improves is False
    found.raise_if_refuted()


def test_unknown_is_neither_proved_nor_refuted() -> None:
    found = tg.Check("Mine", "", (GOOD, OPEN))
    assert not found.is_proved
    assert not found.refuted
    assert found.never_improves is None
    found.raise_if_refuted()


def test_refuted_properties_raise() -> None:
    found = tg.Check("Mine", "", (GOOD, BAD, OPEN))
    assert found.refuted == (BAD,)
    with pytest.raises(tg.errors.InvalidProgramError, match=r"Mine: update_directed is refuted: .* value=1"):
        found.raise_if_refuted()


def test_properties_by_name() -> None:
    found = tg.Check("Mine", "", (GOOD, BAD))
    assert found["update_directed"] is BAD
    with pytest.raises(KeyError, match="'speed' was not looked at; there are message_monotonic, update_directed"):
        found["speed"]


def test_a_check_can_be_pickled() -> None:
    found = tg.Check("Mine", "", (GOOD, BAD))
    assert pickle.loads(pickle.dumps(found)) == found
