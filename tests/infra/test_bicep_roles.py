"""Role ids in the Bicep files are those of the roles that they are called after."""

from __future__ import annotations

import pytest

from tests.infra.bicep.folder import Folder
from tests.infra.bicep.roles import roles


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder.at()


def test_every_role_id_is_known_and_called_after_its_role(folder):
    assert [str(each) for each in roles(folder)] == []


WRONG_ROLES = {
    "an id that no role has": (
        "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
        "ba92f5b4-2d11-453d-a403-e96b0029c9ff",
        "ba92f5b4-2d11-453d-a403-e96b0029c9ff is no role of role_definitions.py",
    ),
    "the id of a wider role": (
        "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
        "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
        "blobReader is the id of Storage Blob Data Owner",
    ),
    "an id in the middle of an assignment": (
        "roleDefinitionId: blobReader",
        "roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', "
        "'2a2b9908-6ea1-4ae2-8e65-a410df84e7d1')",
        "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1 stands outside of a variable that is called "
        "after a role",
    ),
}


@pytest.mark.parametrize(("old", "new", "reported"), WRONG_ROLES.values(), ids=WRONG_ROLES)
def test_a_planted_mistake_is_reported_with_its_file_and_line(folder, old, new, reported):
    wrong = folder.changed("access.bicep", old, new)

    (finding,) = set(roles(wrong))

    assert str(finding) == f"access.bicep:{wrong.line('access.bicep', new)}: {reported}"


def test_a_parameter_that_is_a_role_begins_as_one_that_is_known():
    text = "@description('Role.')\nparam role string = '{}'\noutput same string = role\n"
    known, unknown = (
        roles(Folder.of({"x.bicep": text.format(guid)}))
        for guid in (
            "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
            "00000000-0000-0000-0000-000000000000",
        )
    )

    assert known == []
    assert [str(each) for each in unknown] == [
        "x.bicep:2: 00000000-0000-0000-0000-000000000000 is no role of role_definitions.py"
    ]
