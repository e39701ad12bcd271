"""From a database to Delta tables, by loads, changes and later loads; delta-rs reads them."""

from __future__ import annotations

from uuid import uuid4

import psycopg

from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.relay.document import document_path
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import StreamDocument
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.zone import MIRROR, Mirror, read_delta

_TABLES = """
CREATE TABLE orders (id bigint PRIMARY KEY, item text, price numeric(12, 2), at timestamptz,
    day date, ok boolean, ratio float8, data bytea, tags text[], doc jsonb);
INSERT INTO orders SELECT g, 'item ' || g, g / 8.0, '2026-01-01 00:00+00'::timestamptz,
    '2026-01-01', g % 2 = 0, g * 0.5, '\\x00ff', '{a,NULL}', '{"n": 1}'
    FROM generate_series(1, 50) g;
CREATE TABLE pages (id text PRIMARY KEY, title text, body text);
ALTER TABLE pages ALTER COLUMN body SET STORAGE EXTERNAL;
INSERT INTO pages SELECT 'p' || g, 'first', repeat('x', 9000) FROM generate_series(1, 4) g;
"""
_CHANGES = """
UPDATE orders SET price = NULL, ratio = 'NaN' WHERE id < 5;
DELETE FROM orders WHERE id > 45;
UPDATE orders SET id = 100 WHERE id = 7;
UPDATE pages SET title = 'second' WHERE id <> 'p2';
INSERT INTO pages VALUES ('p9', 'new', 'short');
"""


def _tables(mirror: Mirror) -> tuple[list[object], list[object]]:
    mirror.reconcile_all()
    orders = read_delta(mirror.delta_path(str(TablePath("public", "orders"))))
    pages = read_delta(mirror.delta_path(str(TablePath("public", "pages"))))
    return (
        sorted((row["id"], row["item"], str(row["price"]), str(row["ratio"])) for row in orders),
        sorted((row["id"], row["title"], len(str(row["body"]))) for row in pages),
    )


def _source(owner: psycopg.Connection) -> tuple[list[object], list[object]]:
    orders = owner.execute("SELECT id, item, price, ratio FROM orders").fetchall()
    pages = owner.execute("SELECT id, title, length(body) FROM pages").fetchall()
    return (
        sorted((id_, item, str(price), str(ratio)) for id_, item, price, ratio in orders),
        sorted(pages),
    )


def test_delta_tables_have_the_databases_rows_after_loads_changes_and_later_loads(
    settings: StreamSettings, owner: psycopg.Connection, mirror: Mirror
) -> None:
    make_marks(owner)
    owner.execute(_TABLES)
    zone = landing_zone(MIRROR)
    stream = DrivenStream(LocalStore(mirror.zone.root), zone, settings)
    with stream.open():
        stream.catch_up(owner)
        owner.execute(_CHANGES)
        stream.catch_up(owner)
        assert _tables(mirror) == _source(owner)
    path = document_path(zone, settings.stream)
    there = StreamDocument.from_json(stream.store.read(path).data)
    wanted = there.wanting(TablePath("public", "pages"), uuid4().hex)
    wanted = wanted.wanting(TablePath("public", "orders"), uuid4().hex)
    stream.store.write(path, wanted.as_json())
    with stream.open():
        owner.execute("UPDATE pages SET title = 'third' WHERE id = 'p2'")
        owner.execute("DELETE FROM orders WHERE id = 1")
        stream.catch_up(owner)
    assert _tables(mirror) == _source(owner)
