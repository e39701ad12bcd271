"""Every Bicep file is read by the real grammar, and by the parser of the policy scanner."""

from __future__ import annotations

import pytest
from pycep import BicepParser

from tests.infra.bicep.folder import BICEP
from tests.infra.bicep.reader import NotBicep, read
from tests.infra.bicep.syntax import (
    Binary,
    Boolean,
    Call,
    Expression,
    Index,
    Interpolation,
    Member,
    Name,
    Number,
    Object,
    Ternary,
    Text,
    Unary,
)

FILES = sorted(BICEP.glob("*.bicep"))


@pytest.fixture(scope="module")
def scanner() -> BicepParser:
    return BicepParser()


def value(written: str) -> Expression:
    return read("x.bicep", f"var x = {written}\n").variables["x"].value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_whole_to_the_grammar(path):
    template = read(path.name, path.read_text())

    assert template.resources or template.modules


@pytest.mark.check_infra  # making its parser takes longer than all of the rest
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_read_by_the_policy_scanner_which_passes_over_what_it_cannot_read(path, scanner):
    assert scanner.parse(text=path.read_text())


@pytest.mark.check_infra  # making its parser takes longer than all of the rest
def test_a_lambda_is_one_of_the_things_that_the_policy_scanner_cannot_read(scanner):
    lamb = "param names array = []\nvar all = map(names, each => toLower(each))\n"

    assert read("x.bicep", lamb).variables["all"]
    with pytest.raises(Exception, match="Unexpected token"):
        scanner.parse(text=lamb)


def test_what_is_no_bicep_is_reported_with_its_line():
    with pytest.raises(NotBicep, match=r"^lake.bicep:2: "):
        read("lake.bicep", "param a string\nresource = {\n")


def test_a_name_that_is_declared_twice_is_reported():
    with pytest.raises(NotBicep, match=r"x.bicep:2: a is declared twice"):
        read("x.bicep", "param a string\nvar a = 1\n")


def test_strings_are_read_with_their_escapes_and_what_is_filled_in():
    assert value(r"'it\'s \${x} \n \u{2713}'") == Text(1, "it's ${x} \n ✓")
    assert value("'''\ntwo\nlines'''") == Text(1, "two\nlines")
    assert value("'a${b}c'") == Interpolation(1, ("a", Name(1, "b"), "c"))


def test_a_member_belongs_to_the_operand_before_it_and_not_to_the_whole_condition():
    assert value("a ? '' : b.c") == Ternary(
        1, Name(1, "a"), Text(1, ""), Member(1, Name(1, "b"), "c")
    )
    assert value("(a ? b : c).d") == Member(
        1, Ternary(1, Name(1, "a"), Name(1, "b"), Name(1, "c")), "d"
    )
    assert value("!a && b.c > 1 || d[0] == true") == Binary(
        1,
        "||",
        Binary(
            1,
            "&&",
            Unary(1, "!", Name(1, "a")),
            Binary(1, ">", Member(1, Name(1, "b"), "c"), Number(1, 1)),
        ),
        Binary(1, "==", Index(1, Name(1, "d"), Number(1, 0)), Boolean(1, True)),
    )


def test_a_call_of_a_resource_keeps_its_resource():
    assert value("lake.listKeys().keys") == Member(
        1, Call(1, "listKeys", (), Name(1, "lake")), "keys"
    )


def test_a_resource_is_read_with_its_type_loop_condition_and_what_is_nested():
    text = """
@description('Names.')
@minLength(1)
param names array
resource account 'Microsoft.Storage/storageAccounts@2025-08-01' = [for (a, i) in names: if (i > 0) {
  name: a
  resource blobs 'blobServices' = {
    name: 'default'
  }
}]
resource other 'Microsoft.Storage/storageAccounts@2025-08-01' existing = {
  name: 'other'
}
"""
    template = read("x.bicep", text)

    account = template.resources["account"]
    assert (account.type, account.version) == ("Microsoft.Storage/storageAccounts", "2025-08-01")
    assert account.loop is not None
    assert account.loop.item == "a"
    assert account.condition == Binary(5, ">", Name(5, "i"), Number(5, 0))
    assert isinstance(account.body, Object)
    assert account.body.get("name") == Name(6, "a")
    assert template.resources["account::blobs"].nested_in == "account"
    assert template.resources["other"].existing
    assert template.parameters["names"].bound("minLength") == 1
    assert template.parameters["names"].description == "Names."
    assert template.parameters["names"].required
