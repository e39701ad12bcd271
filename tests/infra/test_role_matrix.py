"""Least privilege, replayed: nobody may do more than is defined, and all that they do they may."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from standins.azurite import Azurite
from tests.infra.access import LAKE, Assignment, Operation, Verdict, verdict
from tests.infra.asked_of_storage import of_the_lake
from tests.infra.at_work import Deployment, at_work
from tests.infra.bicep.expansion import expand
from tests.infra.bicep.folder import BICEP
from tests.infra.everything import everything_happens
from tests.infra.recording import Request
from tests.infra.role_definitions import BLOB_CONTRIBUTOR, BLOB_DELEGATOR, ROLES, Role
from tests.infra.role_matrix import (
    EVERYBODY,
    FUNCTIONS,
    FURTHER,
    MIRRORS,
    OPERATOR,
    RUNNER,
    SALES,
    SAMPLE,
    TOPIC,
    landing,
    table,
    wrong,
)
from tests.infra.sample_deployment import (
    PARAMETERS,
    ROLE_ASSIGNMENT,
    assignments,
    deployment,
    folder,
)
from tests.infra.spark_at_work import a_batch_by_spark

ALLOWED = Verdict.ALLOWED
Asked = list[tuple[Request, Operation]]


@pytest.fixture(scope="module")
def work(
    tmp_path_factory: pytest.TempPathFactory, accounts: Iterator[Azurite]
) -> Iterator[Deployment]:
    """A deployment in which everything has happened."""
    with at_work(tmp_path_factory.mktemp("work"), next(accounts)) as made:
        everything_happens(made)
        yield made


# -- Nobody may do more


def test_everybody_may_do_what_the_table_says_and_nothing_else() -> None:
    assert list(wrong(assignments())) == []


def test_the_table_says_what_it_is_here_for() -> None:
    refused = {str(row) for row in table() if not row.is_allowed}
    for line in (
        "publisher of sales: read lake/sales/Tables/s/t/part.parquet: refused",
        "publisher of sales: list lake/: refused",
        "publisher of sales: read landing/sales2/Files/Monitoring/tables.json: refused",
        "publisher of sales: list landing/crm/Files/LandingZone/T: refused",
        "publisher of sales: list landing/: refused",
        "publisher of sales: write landing/sales/Files/Monitoring/tables.json: refused",
        "publisher of sales: send to landing-events: refused",
        "functions: write lake/sales/Tables/s/t/part.parquet: refused",
        "functions: delete lake/sales/Tables/s/t: refused",
        "functions: write lake/sales/mirroring.json: refused",
        "runner: write landing/sales/Files/LandingZone/s.schema/T/_metadata.json: refused",
        "runner: take from landing-events: refused",
        "topic: take from landing-events: refused",
        "topic: read landing/sales/Files/Monitoring/tables.json: refused",
        "reader: read landing/sales/Files/Monitoring/tables.json: refused",
        "operator: write landing/sales/Files/LandingZone/s.schema/T/_metadata.json: refused",
        "operator: delete landing/crm/Files/Monitoring/tables.json: refused",
        "operator: write lake/sales/_openmirror/folders/s.schema/T.json: refused",
        "operator: take from table-work: refused",
        "stranger: read lake/sales/Tables/s/t/part.parquet: refused",
    ):
        assert line in refused


def test_only_the_functions_have_rights_on_a_whole_account_or_more() -> None:
    wide = {one.principal for one in assignments() if len(one.scope) < 3 and LAKE in one.scope}
    assert all(one.scope for one in assignments()), "a role on the whole resource group"
    # It reads and writes no data: Unity Catalog asks for it, and it exists for accounts alone.
    assert wide == {RUNNER, FURTHER}
    assert {one.role for one in assignments() if one.scope == (LAKE,)} == {BLOB_DELEGATOR}
    assert {one.principal for one in assignments() if one.scope == ("runtime",)} == {FUNCTIONS}


def test_every_assignment_says_why_and_to_what_kind_of_principal() -> None:
    for one in deployment().of(ROLE_ASSIGNMENT):
        properties = one.properties
        assert re.fullmatch(r"openmirror [\w ]+: \w.+", str(properties.get("description"))), one.id
        assert properties["principalType"] in ("ServicePrincipal", "User", "Group")
        assert ("condition" in properties) == (properties.get("conditionVersion") == "2.0"), one.id


OWN_ROLE = "99999999-9999-9999-9999-999999999999"


def own_role() -> dict[str, Role]:
    """All roles, that of publisher-role.json among them."""
    definition = json.loads((BICEP / "publisher-role.json").read_text())
    kinds = ("Actions", "NotActions", "DataActions", "NotDataActions")
    own = Role(definition["Name"], OWN_ROLE, *(frozenset(definition[kind]) for kind in kinds))
    return {**ROLES, OWN_ROLE: own}


def with_a_role_of_ones_own() -> list[Assignment]:
    """What is assigned where publishers get that role."""
    made = expand(folder(), {**PARAMETERS, "publisherRole": OWN_ROLE})
    return assignments(made, own_role())


def test_with_a_role_of_ones_own_publishers_cannot_delete_the_container_and_lose_nothing() -> None:
    assert list(wrong(with_a_role_of_ones_own())) == [
        f"{who}: remove landing: allowed, but it is refused" for who in MIRRORS
    ]


ZONE, STATUS_FILE = "Files/LandingZone/T/x", "Files/Monitoring/tables.json"


@pytest.mark.parametrize(
    ("lists", "role", "writes"),
    [
        ((), BLOB_CONTRIBUTOR.guid, {f"{SAMPLE}/{ZONE}"}),
        (("publishers",), BLOB_CONTRIBUTOR.guid, {f"{SAMPLE}/{ZONE}", f"crm/{ZONE}"}),
        (("publishers",), OWN_ROLE, {f"{SAMPLE}/{ZONE}", f"crm/{ZONE}"}),
        (
            ("runners",),
            BLOB_CONTRIBUTOR.guid,
            {
                f"{SAMPLE}/{ZONE}",
                f"{SAMPLE}/{STATUS_FILE}",
                f"crm/{STATUS_FILE}",
                f"sales/{STATUS_FILE}",
            },
        ),
        (
            ("publishers", "runners"),
            BLOB_CONTRIBUTOR.guid,
            {
                *(f"{SAMPLE}/{ZONE}", f"{SAMPLE}/{STATUS_FILE}"),
                *(f"crm/{ZONE}", f"crm/{STATUS_FILE}", f"sales/{STATUS_FILE}"),
            },
        ),
    ],
)
def test_an_operator_writes_the_sample_and_what_else_it_is_named_for(
    lists: tuple[str, ...], role: str, writes: set[str]
) -> None:
    (one,) = PARAMETERS["operators"]
    others = {name: [{**one, "mirror": "crm"}] for name in lists}
    nobody = {"publishers": [], "runners": [], "readers": []}
    made = expand(folder(), {**PARAMETERS, **nobody, **others, "publisherRole": role})
    given = assignments(made, own_role())
    every = [
        f"{mirror}/{path}" for mirror in (SAMPLE, "crm", "sales") for path in (ZONE, STATUS_FILE)
    ]
    may = {path for path in every if verdict(given, OPERATOR, landing.write(path)) is ALLOWED}
    assert may == writes
    assert all(verdict(given, OPERATOR, landing.read(path)) is ALLOWED for path in every)


# -- All that they do, they may


@pytest.mark.parametrize(
    ("who", "identity"), [(FUNCTIONS, "functions"), (RUNNER, "runner"), (SALES, "publisher")]
)
def test_everything_that_the_code_asks_of_storage_is_allowed(
    work: Deployment, who: str, identity: str
) -> None:
    asked: Asked = getattr(work, identity).asked()
    assert not_allowed(assignments(), who, asked) == []


def test_a_role_of_ones_own_allows_all_that_a_publisher_does(work: Deployment) -> None:
    assert not_allowed(with_a_role_of_ones_own(), SALES, work.publisher.asked()) == []


def test_the_functions_did_all_that_they_ever_do(work: Deployment) -> None:
    """Or the test above would prove little."""
    done = changes(operation for _, operation in work.functions.asked())
    for what in (
        "rename landing/sales/Files/LandingZone/Sales.schema/Orders/",
        "delete landing/sales/Files/LandingZone/Sales.schema/Orders/_ProcessedFiles/",
        "write landing/sales/Files/Monitoring/tables.json",
        "write lake/sales/_openmirror/folders/",
        "write lake/sales/_openmirror/mirror.json",
        "write lake/_openmirror/sweep.json",
        "write lake/_openmirror/events.json",
        "change lake/_openmirror/sweep.lock",
        "delete lake/sales/_openmirror/dropped/",
        "delete lake/sales/_openmirror/converted/",
        "write dead-letters/table-work/",
        "write dead-letters/landing-events/",
        "write dead-letters/event-grid/",
        "delete dead-letters/TOPIC/",
        "count table-work",
        "send to table-work",
        "take from landing-events",
        "take from landing-events-poison",
        "take from table-work-poison",
        "send to landing-events",
    ):
        assert any(one.startswith(what) for one in done), what
    assert not [one for one in done if "/Tables/" in one]


def test_the_runner_did_all_that_it_ever_does(work: Deployment) -> None:
    done = changes(operation for _, operation in work.runner.asked())
    for what in (
        "rename lake/sales/Tables/Sales/Orders to sales/_openmirror/dropped/",
        "rename lake/sales/_openmirror/dropped/Sales/Orders/",
        "write lake/sales/_openmirror/ledgers/",
        "change lake/sales/_openmirror/locks/",
        "send to table-work-poison",
        "delete from table-work",
    ):
        assert any(one.startswith(what) for one in done), what
    assert {one for one in done if " landing/" in one} == STATUS


def test_what_spark_itself_asks_is_allowed_and_writes_nothing_in_landing(
    spark: SparkSession, tmp_path: Path
) -> None:
    with a_batch_by_spark(tmp_path) as done:
        asked = [(request, of_the_lake(request)) for request in done.asked.requests]
    assert done.sequences == [1, 2]
    by_the_driver = [one for one in asked if "Azure Blob FS" in one[0].headers["user-agent"]]
    assert any(operation.what.startswith("read landing/sales/") for _, operation in by_the_driver)
    assert any("/_openmirror/converted/" in operation.what for _, operation in asked)
    assert not_allowed(assignments(), RUNNER, asked) == []
    written = changes(operation for _, operation in asked)
    assert {one for one in written if " landing/" in one} == STATUS


def not_allowed(given: list[Assignment], who: str, asked: Asked) -> list[str]:
    """What a principal asked for and may not."""
    operations = {operation.what: operation for _, operation in asked}
    assert operations
    return sorted(
        f"{who}: {what}: {came}"
        for what, operation in operations.items()
        if (came := verdict(given, who, operation)) is not Verdict.ALLOWED
    )


STATUS = {f"write landing/sales/Files/Monitoring/{name}.json" for name in ("replicator", "tables")}


def changes(operations: Iterable[Operation]) -> set[str]:
    """What is more than reading and listing."""
    done = {operation.what for operation in operations}
    return {what for what in done if not what.startswith(("read ", "list "))}


# -- The table notices


WIDER = {
    "publishers read their mirror's namesakes": (
        "access.bicep",
        "@Resource[${blob}:path] StringStartsWith \\'${publisher.mirror}/\\'",
        "@Resource[${blob}:path] StringStartsWith \\'${publisher.mirror}\\'",
    ),
    "publishers write their own status": (
        "access.bicep",
        "${publisher.mirror}/Files/LandingZone/",
        "${publisher.mirror}/Files/",
    ),
    "publishers list everything": (
        "access.bicep",
        " AND ((${listsNothing}) OR",
        " AND ((${readsNoFile}) OR",
    ),
    "a condition forgets renames": (
        "access.bicep",
        " AND !(ActionMatches{\\'${blob}/move/action\\'})",
        "",
    ),
    "the functions write tables": ("roles.bicep", "*/_openmirror/*\\' AND", "*\\' AND"),
    "the functions write beside their root's folder": (
        "roles.bicep",
        "StringLike \\'_openmirror/*",
        "StringLike \\'_openmirror*",
    ),
    "the functions write no control documents": (
        "roles.bicep",
        "(${inMirrorsControlFolder})",
        "(${writesNothing})",
    ),
    "the runner writes change files": ("runner-roles.bicep", "*/Files/Monitoring/*", "*/Files/*"),
}


COVERED = {
    # The host's rights on the whole account hold dead letters today, and need not for ever.
    (FUNCTIONS, BLOB_CONTRIBUTOR, ("runtime", "blob", "dead-letters")),
}
"""What another assignment covers as well, and why it may stand."""


@pytest.mark.parametrize("mistake", WIDER)
def test_a_condition_that_says_something_else_is_noticed(mistake: str) -> None:
    planted = folder().changed(*WIDER[mistake])
    assert is_noticed(assignments(expand(planted, PARAMETERS)))


@pytest.mark.parametrize("who", [SALES, FUNCTIONS, RUNNER, OPERATOR, TOPIC])
def test_a_role_on_the_whole_account_is_noticed(who: str) -> None:
    one = next(each for each in assignments() if each.principal == who and len(each.scope) == 3)
    assert is_noticed([*assignments(), replace(one, scope=one.scope[:1], condition=None)], who)


def test_a_condition_that_is_gone_is_noticed() -> None:
    given = assignments()
    for one in [each for each in given if each.condition]:
        without = [*(each for each in given if each != one), replace(one, condition=None)]
        assert is_noticed(without, one.principal)


def test_an_assignment_that_is_gone_is_noticed_and_so_each_is_needed() -> None:
    given = assignments()
    idle = [
        (one.principal, one.role, one.scope)
        for one in given
        if not is_noticed([each for each in given if each != one], one.principal)
    ]
    assert set(idle) == COVERED


def is_noticed(given: list[Assignment], *who: str) -> bool:
    """Whether a line of the table does not hold any more."""
    return next(wrong(given, who or EVERYBODY), None) is not None
