"""The evaluator of conditions: Azure's own examples, and what it must refuse."""

from __future__ import annotations

import pytest

from tests.infra.abac import CONTAINER, LIST, PATH, PREFIX, Asked, NotUnderstood, holds

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
READ, WRITE = f"{BLOBS}/read", f"{BLOBS}/write"

READ_OR_LIST = f"""
(
 ( !(ActionMatches{{'{READ}'}} AND NOT SubOperationMatches{{'Blob.List'}}) )
 OR
 ( @{CONTAINER} StringEquals 'box' AND @{PATH} StringStartsWith 'readonly/' )
)
AND
(
 ( !(ActionMatches{{'{READ}'}} AND SubOperationMatches{{'Blob.List'}}) )
 OR
 ( @{CONTAINER} StringEquals 'box' AND @{PREFIX} StringStartsWith 'readonly/' )
)
"""
"""The documented form of "read or list blobs in named containers with a path"."""


def read(path: str, container: str = "box") -> Asked:
    return Asked(READ, "", {PATH: path, CONTAINER: container})


def listing(prefix: str) -> Asked:
    return Asked(READ, LIST, {PREFIX: prefix, CONTAINER: "box"})


def test_the_documented_example_reads_and_lists_below_its_path_alone() -> None:
    assert holds(READ_OR_LIST, read("readonly/a"))
    assert not holds(READ_OR_LIST, read("readonly2/a"))
    assert not holds(READ_OR_LIST, read("readonly/a", "other"))
    assert holds(READ_OR_LIST, listing("readonly/"))
    assert not holds(READ_OR_LIST, listing("readonly"))
    assert not holds(READ_OR_LIST, listing(""))


def test_an_action_that_no_condition_names_passes() -> None:
    assert holds(READ_OR_LIST, Asked(WRITE, "", {PATH: "anything"}))


@pytest.mark.parametrize("operator", ["StringEquals", "StringNotEquals", "StringNotLike"])
def test_what_lacks_the_attribute_is_refused_also_by_a_negation(operator: str) -> None:
    condition = f"@{PATH} {operator} 'x'"
    assert not holds(condition, Asked(READ))
    assert not holds(f"!({condition})", Asked(READ))
    assert holds(f"!(Exists @{PATH})", Asked(READ))


@pytest.mark.parametrize(
    ("comparison", "value", "passes"),
    [
        ("StringLike 'a*c?'", "abcd", True),
        ("StringLike 'A*C?'", "abcd", False),
        ("StringLike 'a*c'", "abcd", False),
        ("StringLikeIgnoreCase 'A*C?'", "abcd", True),
        ("StringLike '*/_openmirror/*'", "m/Tables/s/_openmirror/x", True),
        (r"StringLike 'a\*c'", "abc", False),
        (r"StringLike 'a\*c'", "a*c", True),
        ("StringLike 'a[b]c'", "abc", False),
        ("StringLike 'a[b]c'", "a[b]c", True),
        ("StringEquals 'A'", "a", False),
        ("StringEqualsIgnoreCase 'A'", "a", True),
        ("StringNotStartsWith 'm/'", "m2/x", True),
        ("StringNotStartsWith 'm/'", "m/x", False),
        ("ForAnyOfAnyValues:StringEquals {'a', 'b'}", "b", True),
        ("ForAnyOfAnyValues:StringEquals {'a', 'b'}", "c", False),
    ],
)
def test_comparisons_are_those_of_azure(comparison: str, value: str, passes: bool) -> None:
    assert holds(f"@{PATH} {comparison}", Asked(READ, "", {PATH: value})) is passes


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "(",
        f"@{PATH} StringEquals 'a' AND @{PATH} StringEquals 'b' OR @{PATH} StringEquals 'c'",
        f"@{PATH} StringEndsWith 'a'",
        f"@{PATH} StringEquals {{'a'}}",
        f"@{PATH} ForAllOfAnyValues:StringEquals {{'a'}}",
        f"@{PATH} StringEquals @{PREFIX}",
        "@Environment[UtcNow] DateTimeGreaterThan '2026-01-01'",
        "@Resource[x] BoolEquals true",
        f"ActionMatches{{'{READ}', '{WRITE}'}}",
        f"ActionMatches{{'{READ}'}} ActionMatches{{'{WRITE}'}}",
        f"ActionMatches{{{READ}}}",
    ],
)
def test_what_is_not_known_raises(condition: str) -> None:
    with pytest.raises(NotUnderstood):
        holds(condition, read("a"))


@pytest.mark.parametrize("written", ["{a} && !{b}", "{a} AND NOT {b}", "!(!{a} || {b})"])
def test_signs_and_words_mean_the_same(written: str) -> None:
    a, b = f"ActionMatches{{'{BLOBS}/*'}}", f"SubOperationMatches{{'{LIST}'}}"
    condition = written.format(a=a, b=b)
    assert holds(condition, read("x"))
    assert not holds(condition, listing("x"))
