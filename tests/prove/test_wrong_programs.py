"""Wrong programs are refuted, by numbers that break the property when the program's functions are called with them."""

from __future__ import annotations

import pytest

import tgraph as tg
from prove.broken import is_broken
from prove.wrong_programs import WRONG, Scores, Shortest


@pytest.mark.parametrize(("kind", "expected"), WRONG, ids=[kind.__name__ for kind, _ in WRONG])
def test_wrong_programs_are_refuted(kind: type[tg.Program], expected: set[str]) -> None:
    found = tg.check(kind())
    assert {wrong.name for wrong in found.refuted} == expected
    assert not found.is_proved
    for wrong in found.refuted:
        assert is_broken(kind(), wrong.name, dict(wrong.example))
        for name in wrong.example:
            assert f"{name}=" in wrong.explanation
    with pytest.raises(tg.errors.InvalidProgramError, match=sorted(expected)[0]):
        found.raise_if_refuted()


@pytest.mark.parametrize("kind", [Shortest, Scores])
def test_what_they_spoil_is_right(kind: type[tg.Program]) -> None:
    found = tg.check(kind())
    assert found.is_proved
    assert not found.refuted
    found.raise_if_refuted()
