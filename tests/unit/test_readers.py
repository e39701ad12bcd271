"""`readers` says of a table as it is who reads it, and of what nobody knows that nobody does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openmirror.status.readers import READERS, Feature, Reads, readers_of
from openmirror.table.log import TableProtocol
from tests.harness.command_line import Root
from tests.harness.publishing import table

ITEMS = table("m", "Items")
PAGE = Path(__file__).parents[2] / "docs" / "READERS.md"
_WORDS = {Reads.YES: "yes", Reads.NO: "no", Reads.UNKNOWN: "?"}


def asks_for(*features: str) -> TableProtocol:
    if Feature.MAPPING_OF_VERSION_2 in features:
        return TableProtocol(reader_version=2, reader_features=frozenset({"columnMapping"}))
    return TableProtocol(reader_version=3, writer_version=7, reader_features=frozenset(features))


def test_a_table_without_features_is_read_by_everybody() -> None:
    found = readers_of(TableProtocol(), {})
    assert {verdict.reads for verdict in found.verdicts} == {Reads.YES}
    assert not found.has_feed


@pytest.mark.parametrize("feature", list(Feature))
def test_a_feature_shuts_out_those_that_refuse_it_and_says_which_it_is(feature: Feature) -> None:
    found = readers_of(asks_for(feature), {})
    for verdict in found.verdicts:
        assert verdict.reads is verdict.reader.of(feature)
        assert verdict.because == (() if verdict.reads is Reads.YES else (feature,))


def test_what_a_reader_refuses_counts_before_what_nobody_knows_of_it() -> None:
    named = [feature for feature in Feature if feature is not Feature.MAPPING_OF_VERSION_2]
    found = readers_of(asks_for("aiSummaries", *named), {})
    assert found.unknown == ("aiSummaries",)
    for verdict in found.verdicts:
        assert verdict.reads is not Reads.YES
        if refused := verdict.reader.refuses & set(named):
            assert verdict.reads is Reads.NO
            assert set(verdict.because) == refused


def test_a_feature_that_had_another_name_is_the_same_one() -> None:
    found = readers_of(asks_for("typeWidening-preview"), {})
    assert not found.unknown
    spark = next(verdict for verdict in found.verdicts if "Spark" in verdict.reader.name)
    assert spark.reads is Reads.YES


def test_nobody_is_known_to_read_and_to_refuse_the_same() -> None:
    for reader in READERS:
        assert not reader.reads & reader.refuses
    assert len({reader.name for reader in READERS}) == len(READERS)


def test_the_page_has_the_table_that_the_command_uses() -> None:
    text = PAGE.read_text()
    for reader in READERS:
        cells = [_WORDS[reader.of(feature)] for feature in Feature]
        how = f"[{reader.known}]({reader.source})" if reader.source else reader.known.value
        row = [reader.name, reader.version, *cells, _WORDS[reader.feed], how]
        assert f"| {' | '.join(row)} |" in text


def with_protocol(root: Root, *features: str, **properties: str) -> None:
    """The table's next commit, by somebody else."""
    log = root.path / "lake/m/Tables/dbo/Items/_delta_log"
    newest = max(log.glob("*.json"))
    metadata = next(
        action
        for line in newest.read_text().splitlines()
        if "metaData" in (action := json.loads(line))
    )
    metadata["metaData"]["configuration"] = properties
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": list(features),
        "writerFeatures": [*features, "changeDataFeed"],
    }
    text = "\n".join(map(json.dumps, ({"protocol": protocol}, metadata)))
    (log / f"{int(newest.stem) + 1:020d}.json").write_text(text)


def shown(root: Root) -> Any:
    return json.loads(root.run("readers", "dbo.Items", "--json").stdout)


def test_the_command_says_it_of_a_table_as_it_is(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("drain")
    assert {one["reads"] for one in shown(root)["data"]} == {"yes"}
    feed = {"delta.enableChangeDataFeed": "true"}
    with_protocol(root, "typeWidening", "aiSummaries", **feed)
    found = shown(root)
    assert (found["readerVersion"], found["unknownFeatures"]) == (3, ["aiSummaries"])
    assert found["changeDataFeed"]
    assert {one["reads"] for one in found["data"]} == {"no", "unknown"}
    text = root.run("readers", "dbo.Items", columns=400).stdout
    assert "m/dbo.Items has protocol 3/7 and asks of readers: aiSummaries, typeWidening" in text
    assert "warning: aiSummaries is a table feature that is not known here" in text
    assert "its change data feed is read by: Spark with Delta Lake" in text


def test_a_table_that_is_not_there_has_no_readers(root: Root) -> None:
    root.land(ITEMS)
    refused = root.run("readers", "dbo.Items", columns=400)
    assert refused.exit_code == 1
    assert "has no table that can be read: nothing of it was ever applied" in refused.stderr
