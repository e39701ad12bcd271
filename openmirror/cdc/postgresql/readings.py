"""One reading of the catalogue: fingerprints of tables, and which transactions it sees.

All of a reading is of one moment: it is one statement over plain columns of the catalogue.
Functions such as `pg_relation_filenode`, and casts to `regclass`, read a newer catalogue than the
statement's own snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from openmirror.cdc.postgresql.catalogue import Snapshot
from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.fingerprints import Fingerprint

_NAMESPACES_FROM = 150000
"""From version 15 on, a publication may have all tables of a schema."""
_OF_SCHEMA = """,
                (SELECT s.xmin::text::bigint FROM pg_publication_namespace s
                 WHERE s.pnpubid = p.oid AND s.pnnspid = w.relnamespace)"""
_READING = """
    WITH RECURSIVE wanted AS (
        SELECT c.oid, c.relname, c.relnamespace, c.relfilenode
        FROM pg_class c WHERE c.oid = ANY(%(tables)s::bigint[]::oid[]) AND c.relkind = 'r'
    ), columns AS MATERIALIZED (
        SELECT a.attrelid, a.attnum, a.atttypid, json_build_array(
            a.attnum, a.attname, a.atttypid::bigint, a.atttypmod, a.atthasmissing, a.attgenerated,
            a.attcollation::bigint, a.xmin::text::bigint) AS facts
        FROM wanted w JOIN pg_attribute a ON a.attrelid = w.oid
        WHERE a.attnum > 0 AND NOT a.attisdropped
    ), reach (root, type) AS (
        SELECT DISTINCT atttypid, atttypid FROM columns
        UNION
        SELECT r.root, p.part FROM reach r JOIN pg_type t ON t.oid = r.type CROSS JOIN LATERAL (
            SELECT t.typelem AS part WHERE t.typelem <> 0
            UNION ALL SELECT t.typbasetype WHERE t.typbasetype <> 0
            UNION ALL SELECT a.atttypid FROM pg_attribute a
                WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0
                    AND NOT a.attisdropped
            UNION ALL SELECT g.rngsubtype FROM pg_range g WHERE g.rngtypid = t.oid
            UNION ALL SELECT g.rngtypid FROM pg_range g WHERE g.rngmultitypid = t.oid
        ) p
    ), texts AS (
        SELECT r.root, e.oid::text AS part, e.enumlabel || ' ' || e.xmin::text AS fact
        FROM reach r JOIN pg_enum e ON e.enumtypid = r.type
        UNION ALL
        SELECT r.root, 'attributes of ' || t.oid, string_agg(
            concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attisdropped), ', '
            ORDER BY a.attnum)
        FROM reach r JOIN pg_type t ON t.oid = r.type AND t.typtype = 'c'
        LEFT JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
        GROUP BY r.root, t.oid
    )
    SELECT pg_current_snapshot()::text AS snapshot, w.oid::bigint AS oid, json_build_object(
        'schema', n.nspname, 'name', w.relname, 'node', w.relfilenode::bigint,
        'keys', coalesce(to_json((string_to_array(i.indkey::text, ' ')::int[])[1:i.indnkeyatts]),
            '[]'),
        'columns', coalesce(c.facts, '[]'), 'texts', coalesce(t.facts, '{{}}'),
        'sent', CASE WHEN p.oid IS NULL THEN '[]' ELSE
            json_build_array(p.oid::bigint, p.xmin::text::bigint, p.puballtables,
                r.xmin::text::bigint{of_schema}) END
        )::text AS fingerprint
    FROM (SELECT) one LEFT JOIN wanted w ON true
    LEFT JOIN pg_namespace n ON n.oid = w.relnamespace
    LEFT JOIN pg_index i ON i.indrelid = w.oid AND i.indisprimary AND i.indimmediate
        AND i.indisvalid
    LEFT JOIN (
        SELECT attrelid, json_agg(facts ORDER BY attnum) AS facts FROM columns GROUP BY attrelid
    ) c ON c.attrelid = w.oid
    LEFT JOIN (
        SELECT c.attrelid, jsonb_object_agg(t.part, t.fact) AS facts
        FROM columns c JOIN texts t ON t.root = c.atttypid GROUP BY c.attrelid
    ) t ON t.attrelid = w.oid
    LEFT JOIN pg_publication p ON p.pubname = %(publication)s
    LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = w.oid
"""
_SCHEMAS = """
        || (SELECT md5(coalesce(string_agg(s.oid::text, ',' ORDER BY s.oid), ''))
            FROM pg_publication_namespace s JOIN pg_publication p ON p.oid = s.pnpubid
            WHERE p.pubname = %(publication)s)"""
_ARRANGEMENT = """
    SELECT md5(coalesce(string_agg(concat_ws(' ', c.oid, c.relkind, c.relpersistence,
            c.relispartition, c.relreplident, c.relrowsecurity, c.relforcerowsecurity, c.relacl,
            c.relowner, n.nspname, n.nspacl, c.relname, i.indkey, i.indimmediate, i.indisvalid,
            g.columns), ',' ORDER BY c.oid, i.indexrelid), ''))
        || (SELECT coalesce(string_agg(concat_ws(' ', p.oid, p.xmin), ','), '')
            FROM pg_publication p WHERE p.pubname = %(publication)s)
        || (SELECT md5(coalesce(string_agg(concat_ws(' ', r.oid, r.xmin), ',' ORDER BY r.oid), ''))
            FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
            WHERE p.pubname = %(publication)s){of_schemas} AS arrangement
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND (i.indisprimary OR i.indisreplident)
    LEFT JOIN (
        SELECT attrelid, string_agg(attnum || attgenerated::text, ' ' ORDER BY attnum) AS columns
        FROM pg_attribute WHERE attgenerated <> '' AND NOT attisdropped GROUP BY attrelid
    ) g ON g.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname NOT LIKE 'pg\\_%%'
        AND n.nspname <> 'information_schema'
"""


@dataclass(frozen=True)
class CatalogueReading:
    """What one statement saw of the catalogue."""

    snapshot: Snapshot
    """The transactions that it saw."""
    tables: Mapping[Oid, Fingerprint]
    """The fingerprint of each table that was asked for; a table that is gone is missing."""


def read_catalogue(
    connection: DatabaseConnection, publication: str, tables: Collection[Oid]
) -> CatalogueReading:
    """Read the fingerprints of tables. Raises what psycopg raises."""
    has_schemas = connection.info.server_version >= _NAMESPACES_FROM
    statement = _READING.format(of_schema=_OF_SCHEMA if has_schemas else "")
    asked = {"tables": sorted(tables), "publication": publication}
    rows = connection.execute(statement.encode(), asked).fetchall()
    found = {row["oid"]: _ascii(row["fingerprint"]) for row in rows if row["oid"] is not None}
    return CatalogueReading(Snapshot.parse(rows[0]["snapshot"]), found)


def _ascii(text: str) -> Fingerprint:
    """Return a fingerprint that any file can hold: bytes that are no text are escapes in it."""
    return Fingerprint(text if text.isascii() else json.dumps(json.loads(text)))


def read_arrangement(connection: DatabaseConnection, publication: str) -> str:
    """Return a text that is another one once other tables can or must be mirrored.

    Tables were made, dropped, renamed or moved, their keys, generated columns or rights changed, or
    somebody changed the publication. Raises what psycopg raises.
    """
    has_schemas = connection.info.server_version >= _NAMESPACES_FROM
    statement = _ARRANGEMENT.format(of_schemas=_SCHEMAS if has_schemas else "")
    row = connection.execute(statement.encode(), {"publication": publication}).fetchone()
    assert row is not None
    return str(row["arrangement"])
