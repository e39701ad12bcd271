"""Every rule of the documents has a mistake that breaks it, and every mistake is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutations import witnesses
from tests.mutations.catalogue import DIRECTED_IN_PROSE, IN_PROSE, RULES, Mutation, patched
from tests.simulation.mutations import MUTATIONS
from tests.unit import test_working

DOCS = Path(__file__).parents[2] / "docs"
TEXT = "\n".join(
    (DOCS / name).read_text(encoding="utf-8") for name in ("ARCHITECTURE.md", "INTERNALS.md")
)
HEADER = "| Rule | The disaster it avoids |"
DIRECTED = {
    rule: entry
    for rule, entry in (RULES | DIRECTED_IN_PROSE).items()
    if isinstance(entry, Mutation)
}
OWN = [
    found
    for found in vars(witnesses).values()
    if getattr(found, "__module__", "") == witnesses.__name__
    and callable(found)
    and any(entry.witness is found for entry in DIRECTED.values())
]
FAST_PATIENCE = 2.0
"""Seconds that a witness waits for what a mistake keeps from coming."""


def rules_in_tables() -> Iterator[str]:
    lines = iter(TEXT.splitlines())
    for line in lines:
        if line != HEADER:
            continue
        assert set(next(lines)) <= set("|-: ")
        for row in lines:
            if not row.startswith("|"):
                break
            yield row.strip("| ").split(" | ")[0]


def test_every_rule_of_the_tables_has_a_mutation_and_every_mutation_a_rule() -> None:
    rules = list(rules_in_tables())
    assert len(rules) == len(set(rules))
    assert set(rules) == set(RULES)


def test_every_mutation_of_random_schedules_breaks_a_rule_that_is_written_down() -> None:
    text = " ".join(TEXT.split())
    for quoted in (*IN_PROSE.values(), *DIRECTED_IN_PROSE):
        assert quoted in text, f"the documents do not say {quoted!r}"
    named = [entry for entry in RULES.values() if isinstance(entry, str)]
    assert sorted([*named, *IN_PROSE]) == sorted(MUTATIONS)


@pytest.mark.parametrize("witness", OWN, ids=lambda found: found.__name__)
def test_each_directed_schedule_holds_in_the_product(witness: object) -> None:
    assert callable(witness)
    witness()


@pytest.mark.parametrize("rule", sorted(DIRECTED))
def test_each_mistake_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_working, "PATIENCE", FAST_PATIENCE)
    entry = DIRECTED[rule]
    with patched(entry.made()), pytest.raises(AssertionError):
        entry.witness()
