"""Each type of a real server: its Delta type, or its refusal by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openmirror.cdc.postgresql.catalogue import types_of
from openmirror.cdc.postgresql.definitions import TypeFacts, TypeKind
from openmirror.cdc.postgresql.types import TextForm, TypeReading, documented_types, reading_of
from openmirror.protocol.streams import StopCode, StopReason
from standins.postgres import PostgresServer
from tests.cdc.postgresql.server_texts import Sent, sent_by

_DELTA = {
    "int2": "short", "int4": "integer", "int8": "long", "bool": "boolean", "float4": "float",
    "float8": "double", "oid": "long", "xid": "long", "cid": "long", "money": "decimal(19,2)",
    "date": "date", "timestamp": "timestamp_ntz", "timestamptz": "timestamp", "bytea": "binary",
}  # fmt: skip
_UNSTABLE = (
    "regclass", "regproc", "regprocedure", "regoper", "regoperator", "regtype", "regrole",
    "regnamespace", "regconfig", "regdictionary", "regcollation", "aclitem",
)  # fmt: skip
_TYPES = """
CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION citext; CREATE EXTENSION isn;
CREATE EXTENSION cube; CREATE EXTENSION seg;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE nested AS (p pair, d date);
CREATE TYPE with_class AS (a int, c regclass);
CREATE TYPE class_range AS RANGE (subtype = regclass, subtype_opclass = oid_ops);
CREATE DOMAIN cents AS numeric(12,2);
CREATE DOMAIN small_cents AS cents CHECK (value < 100);
CREATE DOMAIN int_list AS int[];
CREATE DOMAIN class_domain AS regclass;
CREATE DOMAIN deep AS with_class;
CREATE DOMAIN boxes AS box;
"""
_OWN = {
    "hstore": "string", "ltree": "string", "lquery": "string", "citext": "string",
    "isbn13": "string", "cube": "string", "seg": "string", "mood": "string", "pair": "string",
    "nested": "string", "cents": "decimal(12,2)", "small_cents": "decimal(12,2)",
    "int_list": "string", "mood[]": "string", "pair[]": "string", "cents[]": "string",
    "hstore[]": "string", "boxes": "string",
}  # fmt: skip
_OWN_REFUSED = (
    "with_class", "class_range", "class_domain", "deep", "regtype[]", "deep[]",
    "class_domain[]", "class_range[]", "class_multirange",
)  # fmt: skip


@pytest.fixture(scope="module")
def sent(postgres: PostgresServer) -> Iterator[Sent]:
    with postgres.database("types_of_a_server") as url, sent_by(url) as sent:
        for statement in _TYPES.split(";"):
            sent.run(statement)
        yield sent


def _reading(sent: Sent, name: str, modifier: int = -1, *, as_text: bool = False) -> object:
    [[oid]] = sent.texts(f"SELECT $${name}$$::regtype::oid")
    types = types_of(sent.connection, [int(oid or 0)])
    return reading_of(
        "public.t.c", int(oid or 0), modifier, types, as_text=as_text, table="public.t"
    )


def test_every_type_of_the_catalogue_is_read_or_refused_by_name(sent: Sent) -> None:
    rows = sent.connection.execute(
        "SELECT t.oid::bigint AS oid, t.typname AS name, t.typtype::text AS kind, "
        "e.typname AS element FROM pg_type t "
        "LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid "
        "WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typrelid = 0 "
        "AND coalesce(e.typrelid, 0) = 0"
    ).fetchall()
    assert len(rows) > 150
    types = types_of(sent.connection, [row["oid"] for row in rows])
    for row in rows:
        name, element = row["name"], row["element"]
        found = reading_of("s.t.c", row["oid"], -1, types, as_text=False)
        if name in _UNSTABLE or element in _UNSTABLE or row["kind"] == "p":
            assert isinstance(found, StopReason), name
            assert found.code is StopCode.SOURCE_TYPE_UNSUPPORTED
            refused = name if row["kind"] == "p" else element or name
            assert f"column s.t.c is of type {refused}," in found.detail
            assert found.remedy == "`--without-column s.t.c`"
        elif element == "cstring":
            assert isinstance(found, StopReason), name
        else:
            assert isinstance(found, TypeReading), name
            assert found.type == _DELTA.get(name, "string"), name
            assert (found.form is TextForm.ARRAY) is (element is not None)


def test_types_of_a_user(sent: Sent) -> None:
    for name, delta in _OWN.items():
        found = _reading(sent, name)
        assert isinstance(found, TypeReading), name
        assert found.type == delta, name
    for name in _OWN_REFUSED:
        for as_text in (False, True):
            found = _reading(sent, name, as_text=as_text)
            assert isinstance(found, StopReason), name
            assert found.remedy == "`--without-column public.t.c`"
    boxes = _reading(sent, "boxes[]")
    assert isinstance(boxes, TypeReading)
    assert boxes.delimiter == ";"


def test_the_built_in_types_have_the_oids_that_are_written_here(sent: Sent) -> None:
    names = [name for name in documented_types() if name not in _NO_TYPES]
    assert len(names) > 70
    for name in names:
        if name == "numeric(p,s)":
            continue
        own = "bpchar" if name == "char" else name
        [[oid]] = sent.texts(f"SELECT to_regtype($${own}$$)::oid")
        found = reading_of("s.t.c", int(oid or 0), -1, {}, as_text=False)
        if documented_types()[name] == "refused":
            assert isinstance(found, StopReason), name
            assert f"type {name}," in found.detail
        else:
            assert isinstance(found, TypeReading), name
            assert found.type == documented_types()[name], name


_NO_TYPES = ("array", "enum", "composite", "range", "multirange", "other", "domain")


@pytest.mark.parametrize(
    ("type", "delta"),
    [
        ("numeric", "string"),
        ("numeric(10,2)", "decimal(10,2)"),
        ("numeric(5)", "decimal(5,0)"),
        ("numeric(38,38)", "decimal(38,38)"),
        ("numeric(39,0)", "string"),
        ("numeric(1000,1000)", "string"),
        ("numeric(3,5)", "decimal(5,5)"),
        ("numeric(2,38)", "decimal(38,38)"),
        ("numeric(2,39)", "string"),
        ("numeric(2,-3)", "decimal(5,0)"),
        ("numeric(30,-8)", "decimal(38,0)"),
        ("numeric(30,-9)", "string"),
        ("numeric(1,-1000)", "string"),
        ("numeric(10,2)[]", "string"),
    ],
)
def test_numbers_by_their_modifier(sent: Sent, type: str, delta: str) -> None:
    sent.run("DROP TABLE IF EXISTS n")
    sent.run(f"CREATE TABLE n (id int PRIMARY KEY, v {type})")
    assert sent.shape("n").columns[1].reading.type == delta


def test_a_type_that_is_gone_is_never_guessed() -> None:
    gone = reading_of("s.t.c", 99_999, -1, {}, as_text=True, table="s.t")
    assert gone == StopReason(
        StopCode.SOURCE_TYPE_UNSUPPORTED,
        "column s.t.c has a type that the catalogue does not have (OID 99999)",
        "`openmirror cdc resnapshot s.t`, or `--without-column s.t.c`",
    )
    array = TypeFacts(oid=20_000, schema="s", name="_x", kind=TypeKind.BASE, element=20_001)
    for facts in (array, TypeFacts(oid=20_000, schema="s", name="d", kind=TypeKind.DOMAIN, base=5)):
        found = reading_of("s.t.c", 20_000, -1, {20_000: facts}, as_text=False)
        assert isinstance(found, StopReason)


def test_as_text_is_the_text_of_the_server(sent: Sent) -> None:
    for name in ("int4", "numeric", "date", "int4[]", "mood", "cents", "bytea"):
        assert _reading(sent, name, as_text=True) == TypeReading("string", TextForm.TEXT)
