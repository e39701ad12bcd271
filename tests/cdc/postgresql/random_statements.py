"""Random statements of DDL, and of the publication, about the tables that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.cdc.postgresql.found_tables import (
    COLUMNS,
    OTHER_SCHEMA,
    SCHEMA,
    FoundTable,
    FoundTables,
    quoted,
)

_LABELS = ("sad", "glad", "calm", "new label")
_MOST_TABLES = 7
_WIDER = {
    "varchar(20)": ("varchar(40)", "varchar", "text"),
    "text": ("varchar",),
    "varchar": ("text", "varchar(3000)"),
    "varchar(40)": ("text",),
    "numeric(12,3)": ("numeric(14,3)", "numeric"),
    "numeric(14,3)": ("numeric(20,3)", "numeric(20,4)"),
    "integer": ("bigint", "numeric", "text"),
    "smallint": ("integer",),
    "timestamp": ("timestamptz", "timestamp(3)"),
    "timestamptz": ("timestamp",),
    "price": ("numeric(10,2)", "numeric"),
    "posint": ("integer", "bigint"),
    "json": ("jsonb",),
    "char(5)": ("varchar(20)", "text"),
}
"""Types that a column of a type is often changed to."""


@dataclass(frozen=True)
class Ddl:
    """Statements, and those that take them back."""

    statements: Sequence[str]
    inverse: Sequence[str] = ()
    is_alone: bool = False
    """Whether they must not run in a transaction."""


@dataclass
class RandomStatements:
    """Chooses statements by a seed."""

    random: Random
    there: FoundTables
    publication: str
    counts: Counter[str] = field(default_factory=Counter)
    """How often each kind of DDL was chosen."""
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    def chosen(self) -> Ddl | None:
        tables = self.there.tables()
        makes = (
            self.create,
            self._create_child,
            self._create_partitioned,
            self._change_type_itself,
        )
        if len(tables) < 2 or (len(tables) < _MOST_TABLES and self.random.random() < 0.12):
            name, ddl = "make", self.random.choice((self.create, *makes))()
        elif self.random.random() < 0.12:
            name, ddl = "publication", self._change_publication(self.random.choice(tables))
        elif self.random.random() < 0.12:
            name, ddl = "type", self._change_type_itself()
        else:
            table = self.random.choice(tables)
            made = self.random.choice(
                (
                    *(self._add_column,) * 4,
                    *(self._drop_column,) * 2,
                    self._rename_column,
                    self._exchange_columns,
                    self._make_column_again,
                    self._change_default,
                    self._change_required,
                    *(self._change_column_type,) * 4,
                    *(self._change_key,) * 3,
                    *(self._change_identity,) * 2,
                    *(self._rename,) * 2,
                    self._move,
                    *(self._swap,) * 2,
                    *(self._drop,) * 2,
                    self._make_again,
                    self._truncate,
                    self._rewrite,
                    self._harmless,
                    self._inherit,
                    self._attach,
                    self._unlog,
                    self._generate,
                    self._many_at_once,
                )
            )
            name, ddl = made.__name__, made(table)
        self.counts[name] += ddl is not None
        return ddl

    def create(self) -> Ddl | None:
        name = self.there.free()
        if name is None:
            return None
        if self.random.random() < 0.15 and (tables := self.there.tables()):
            like = self.random.choice(tables)
            return Ddl(
                [
                    f"CREATE TABLE {name} AS SELECT * FROM {like.title}",
                    f"ALTER TABLE {name} ADD PRIMARY KEY (id)",
                ],
                [f"DROP TABLE {name}"],
            )
        return Ddl([self._create_statement(name)], [f"DROP TABLE {name}"])

    def _create_statement(self, name: str) -> str:
        keyed = [one.name for one in self.there.types.values() if one.is_key]
        columns, keys = {"id": "int"}, ["id"]
        if self.random.random() < 0.25:
            columns["k"] = self.random.choice(keyed)
            keys = self.random.choice((["k"], ["id", "k"], ["k", "id"]))
        for column in self.random.sample(COLUMNS, self.random.randint(1, 6)):
            columns[column] = self.random.choice(list(self.there.types.values())).name
        names = list(columns)
        self.random.shuffle(names)
        listed = ", ".join(f"{column} {columns[column]}" for column in names)
        key = self.random.choice(
            (*("PRIMARY KEY ({})",) * 9, "PRIMARY KEY ({}) DEFERRABLE", "UNIQUE ({})")
        )
        kind = "UNLOGGED TABLE" if self.random.random() < 0.05 else "TABLE"
        return f"CREATE {kind} {name} ({listed}, {key.format(', '.join(keys))})"

    def _create_child(self) -> Ddl | None:
        name, tables = self.there.free(), [one for one in self.there.tables() if one.kind == "r"]
        if name is None or not tables:
            return None
        parent = self.random.choice(tables)
        make = self.random.choice(
            (
                f"CREATE TABLE {name} (PRIMARY KEY (id)) INHERITS ({parent.title})",
                f"CREATE TABLE {name} (LIKE {parent.title} INCLUDING ALL)",
            )
        )
        return Ddl([make], [f"DROP TABLE {name}"])

    def _create_partitioned(self) -> Ddl | None:
        name = self.there.free()
        if name is None:
            return None
        parts = f"{name.replace('ddl.', 'ddl.p_')}"
        parts = parts.replace('p_"', '"p_')
        one, two = (
            (parts[:-1] + f"_{n}" + '"') if parts.endswith('"') else f"{parts}_{n}" for n in (1, 2)
        )
        return Ddl(
            [
                f"CREATE TABLE {name} (id int, a text, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
                f"CREATE TABLE {one} PARTITION OF {name} FOR VALUES FROM (0) TO (20)",
                f"CREATE TABLE {two} (id int PRIMARY KEY, a text)",
                f"INSERT INTO {two} VALUES (25, 'x'), (26, 'y')",
                f"ALTER TABLE {name} ATTACH PARTITION {two} FOR VALUES FROM (20) TO (50)",
            ],
            [f"DROP TABLE {name}"],
        )

    def _change_type_itself(self) -> Ddl:
        kind, label = self.random.choice(("mood", "state")), self.random.choice(_LABELS)
        old = quoted(self.random.choice(self.there.labels(kind)))
        number = next(self._numbers)
        return self.random.choice(
            (
                Ddl([f"ALTER TYPE {kind} ADD VALUE IF NOT EXISTS '{label}'"]),
                Ddl([f"ALTER TYPE {kind} ADD VALUE IF NOT EXISTS '{label}' BEFORE {old}"]),
                Ddl(
                    [f"ALTER TYPE {kind} RENAME VALUE {old} TO '{label}'"],
                    [f"ALTER TYPE {kind} RENAME VALUE '{label}' TO {old}"],
                ),
                Ddl(
                    ["ALTER TYPE pair ADD ATTRIBUTE n int"],
                    ["ALTER TYPE pair DROP ATTRIBUTE n"],
                ),
                Ddl(
                    ["ALTER TYPE pair DROP ATTRIBUTE b"],
                    ["ALTER TYPE pair ADD ATTRIBUTE b text"],
                ),
                Ddl(
                    ["ALTER TYPE pair RENAME ATTRIBUTE a TO z"],
                    ["ALTER TYPE pair RENAME ATTRIBUTE z TO a"],
                ),
                Ddl(
                    [f"ALTER DOMAIN price ADD CONSTRAINT c{number} CHECK (value < 1e9)"],
                    [f"ALTER DOMAIN price DROP CONSTRAINT c{number}"],
                ),
                Ddl(["ALTER DOMAIN posint SET DEFAULT 3"], ["ALTER DOMAIN posint DROP DEFAULT"]),
                Ddl(["ALTER DOMAIN price SET NOT NULL"], ["ALTER DOMAIN price DROP NOT NULL"]),
                Ddl(
                    ["ALTER TYPE state RENAME TO other_state"],
                    ["ALTER TYPE other_state RENAME TO state"],
                ),
                Ddl(
                    [f"ALTER TYPE state SET SCHEMA {OTHER_SCHEMA}"],
                    [f"ALTER TYPE {OTHER_SCHEMA}.state SET SCHEMA {SCHEMA}"],
                ),
            )
        )

    def _change_publication(self, table: FoundTable) -> Ddl:
        alter = f'ALTER PUBLICATION "{self.publication}"'
        every = f"{alter} SET (publish = 'insert, update, delete, truncate')"
        listed = ", ".join(table.keys or ["id"])
        back = [f"{alter} DROP TABLE {table.title}", f"{alter} ADD TABLE {table.title}"]
        return self.random.choice(
            (
                Ddl([f"{alter} DROP TABLE {table.title}"], [f"{alter} ADD TABLE {table.title}"]),
                Ddl([f"{alter} SET (publish = 'insert')"], [every]),
                Ddl([f"{alter} SET (publish = 'update, delete')"], [every]),
                Ddl(
                    [
                        f"{alter} DROP TABLE {table.title}",
                        f"{alter} ADD TABLE {table.title} WHERE ({self._first_key(table)})",
                    ],
                    back,
                ),
                Ddl(
                    [
                        f"{alter} DROP TABLE {table.title}",
                        f"{alter} ADD TABLE {table.title} ({listed})",
                    ],
                    back,
                ),
                Ddl(
                    [f"{alter} SET TABLE {table.title}, public.marks"],
                ),
                Ddl(
                    [f"{alter} SET (publish_via_partition_root = true)"],
                    [f"{alter} SET (publish_via_partition_root = false)"],
                ),
                Ddl(
                    [f"{alter} ADD TABLES IN SCHEMA {SCHEMA}"],
                    [f"{alter} DROP TABLES IN SCHEMA {SCHEMA}"],
                ),
            )
        )

    def _first_key(self, table: FoundTable) -> str:
        return "id > 5" if "id" in table.keys else f"{(table.keys or ['id'])[0]} IS NOT NULL"

    def _add_column(self, table: FoundTable) -> Ddl | None:
        name = self.there.free_column(table)
        if name is None:
            return None
        one = self.random.choice(list(self.there.types.values()))
        value = self.there.value_of(next(k for k, v in self.there.types.items() if v is one))
        what = self.random.choice(
            (
                one.name,
                one.name,
                f"{one.name} DEFAULT {value}",
                f"{one.name} DEFAULT {value}",
                f"{one.name} NOT NULL DEFAULT {value}",
                "int DEFAULT nextval('ddl.numbers')",
                "text DEFAULT 'n' || nextval('ddl.numbers')",
                "bigint GENERATED BY DEFAULT AS IDENTITY",
                "int GENERATED ALWAYS AS IDENTITY",
                "int GENERATED ALWAYS AS (id * 2) STORED",
                f"{one.name} NOT NULL",
                "ddl.state",
                "ddl.state DEFAULT 'sad'",
            )
        )
        inverse = f"ALTER TABLE {table.title} DROP {name}"
        return Ddl([f"ALTER TABLE {table.title} ADD {name} {what}"], [inverse])

    def _drop_column(self, table: FoundTable) -> Ddl | None:
        column = self.there.one_of(table.others)
        if column is None:
            return None
        return Ddl(
            [f"ALTER TABLE {table.title} DROP {column.name} CASCADE"],
            [f"ALTER TABLE {table.title} ADD {column.name} {column.type}"],
        )

    def _make_column_again(self, table: FoundTable) -> Ddl | None:
        column = self.there.one_of(table.others)
        if column is None:
            return None
        other = self.random.choice(list(self.there.types.values())).name
        drop = f"ALTER TABLE {table.title} DROP {column.name}"
        again = self.random.choice((column.type, other))
        add = f"ALTER TABLE {table.title} ADD {column.name} {again}"
        if self.random.random() < 0.3:
            return Ddl([f"{drop}, ADD {column.name} {column.type}"])
        return Ddl([drop, add])

    def _rename_column(self, table: FoundTable) -> Ddl | None:
        column, name = self.there.one_of(table.columns), self.there.free_column(table)
        if column is None or name is None:
            return None
        alter = f"ALTER TABLE {table.title} RENAME"
        return Ddl([f"{alter} {column.name} TO {name}"], [f"{alter} {name} TO {column.name}"])

    def _exchange_columns(self, table: FoundTable) -> Ddl | None:
        if len(table.columns) < 2:
            return None
        same = [
            (a, b)
            for a in table.columns
            for b in table.columns
            if a.name < b.name and a.type == b.type
        ]
        one, two = (
            self.random.choice(same)
            if same and self.random.random() < 0.5
            else self.random.sample(table.columns, 2)
        )
        alter = f"ALTER TABLE {table.title} RENAME"
        steps = [
            f"{alter} {one.name} TO away",
            f"{alter} {two.name} TO {one.name}",
            f"{alter} away TO {two.name}",
        ]
        return Ddl(steps, steps)

    def _change_default(self, table: FoundTable) -> Ddl | None:
        column = self.there.one_of(table.others)
        if column is None:
            return None
        alter = f"ALTER TABLE {table.title} ALTER {column.name}"
        return Ddl(
            [f"{alter} SET DEFAULT {self.there.value_of(column.type)}"], [f"{alter} DROP DEFAULT"]
        )

    def _change_required(self, table: FoundTable) -> Ddl | None:
        column = self.there.one_of(table.others)
        if column is None:
            return None
        verbs = ["SET NOT NULL", "DROP NOT NULL"]
        verbs = verbs[::-1] if column.is_required else verbs
        forward, back = (f"ALTER TABLE {table.title} ALTER {column.name} {v}" for v in verbs)
        return Ddl([forward], [back])

    def _change_column_type(self, table: FoundTable) -> Ddl | None:
        column = self.there.one_of(table.columns)
        if column is None:
            return None
        alter = f"ALTER TABLE {table.title} ALTER {column.name} TYPE"
        wider = _WIDER.get(column.type, ("text",))
        other = self.random.choice(list(self.there.types.values()))
        key = next(name for name, one in self.there.types.items() if one is other)
        how = self.random.random()
        back = f"{alter} {column.type} USING {column.name}::text::{column.type}"
        if how < 0.5:
            new = self.random.choice(wider)
            return Ddl([f"{alter} {new} USING {column.name}::{new}"], [back])
        if how < 0.65:
            return Ddl([f"{alter} text USING {column.name}::text || '!'"], [back])
        if how < 0.8:
            return Ddl([f"{alter} {column.type} USING {self.there.value_of(column.type)}"])
        value = self.random.choice(("NULL", self.there.value_of(key)))
        return Ddl([f"{alter} {other.name} USING {value}"], [f"{alter} {column.type} USING NULL"])

    def _change_key(self, table: FoundTable) -> Ddl | None:
        names = [one.name for one in table.columns]
        if not names:
            return None
        chosen = ", ".join(self.random.sample(names, self.random.randint(1, min(2, len(names)))))
        more = self.random.choice(("", "", " DEFERRABLE"))
        alter = f"ALTER TABLE {table.title}"
        if table.key is None:
            which = self.random.choice(("id", chosen))
            index = f"i{next(self._numbers)}"
            return self.random.choice(
                (
                    Ddl([f"{alter} ADD PRIMARY KEY ({which}){more}"]),
                    Ddl([f"{alter} ADD PRIMARY KEY (id)"]),
                    Ddl(
                        [
                            f"CREATE UNIQUE INDEX {index} ON {table.title} ({which})",
                            f"{alter} ADD PRIMARY KEY USING INDEX {index}",
                        ]
                    ),
                )
            )
        drop = f"{alter} DROP CONSTRAINT {table.key}"
        back = f"{alter} ADD CONSTRAINT {table.key} PRIMARY KEY ({', '.join(table.keys)})"
        another = f"{alter} ADD CONSTRAINT {table.key} PRIMARY KEY ({chosen}){more}"
        return self.random.choice(
            (
                Ddl([drop], [back]),
                Ddl([drop], [back]),
                Ddl([f"{drop}, ADD PRIMARY KEY ({chosen}){more}"], []),
                Ddl([drop, another], [drop, back]),
                Ddl([f"{drop}, ADD CONSTRAINT {table.key} PRIMARY KEY (id)"], [drop, back]),
                Ddl([f"{alter} RENAME CONSTRAINT {table.key} TO k{next(self._numbers)}"]),
            )
        )

    def _change_identity(self, table: FoundTable) -> Ddl:
        alter = f"ALTER TABLE {table.title} REPLICA IDENTITY"
        index = f"i{next(self._numbers)}"
        names = [one.name for one in table.columns if one.is_required or one.is_key] or ["id"]
        chosen = ", ".join(self.random.sample(names, self.random.randint(1, min(2, len(names)))))
        return self.random.choice(
            (
                Ddl([f"{alter} FULL"], [f"{alter} DEFAULT"]),
                Ddl([f"{alter} NOTHING"], [f"{alter} DEFAULT"]),
                Ddl([f"{alter} DEFAULT"]),
                Ddl([f"{alter} USING INDEX {(table.key or 'none')}"], [f"{alter} DEFAULT"]),
                Ddl(
                    [
                        f"CREATE UNIQUE INDEX {index} ON {table.title} ({chosen})",
                        f"{alter} USING INDEX {index}",
                    ],
                    [f"{alter} DEFAULT"],
                ),
            )
        )

    def _rename(self, table: FoundTable) -> Ddl | None:
        name = self.there.free()
        if name is None:
            return None
        bare = name.partition(".")[2]
        return Ddl(
            [f"ALTER TABLE {table.title} RENAME TO {bare}"],
            [f"ALTER TABLE {table.schema}.{bare} RENAME TO {table.name}"],
        )

    def _move(self, table: FoundTable) -> Ddl:
        to = OTHER_SCHEMA if table.schema == SCHEMA else SCHEMA
        return Ddl(
            [f"ALTER TABLE {table.title} SET SCHEMA {to}"],
            [f"ALTER TABLE {to}.{table.name} SET SCHEMA {table.schema}"],
        )

    def _swap(self, table: FoundTable) -> Ddl | None:
        others = [
            one
            for one in self.there.tables()
            if one.title != table.title and one.schema == table.schema
        ]
        other = self.there.one_of(others)
        if other is None:
            return None
        steps = [
            f"ALTER TABLE {table.title} RENAME TO away",
            f"ALTER TABLE {other.title} RENAME TO {table.name}",
            f"ALTER TABLE {table.schema}.away RENAME TO {other.name}",
        ]
        return Ddl(steps, steps)

    def _drop(self, table: FoundTable) -> Ddl:
        return Ddl([f"DROP TABLE {table.title}"], [self._create_statement(table.title)])

    def _make_again(self, table: FoundTable) -> Ddl:
        copied = f"{SCHEMA}.copied"
        if table.kind == "r" and self.random.random() < 0.5:
            return Ddl(
                [
                    f"CREATE TABLE {copied} (LIKE {table.title} INCLUDING ALL)",
                    f"INSERT INTO {copied} OVERRIDING USER VALUE SELECT * FROM {table.title}",
                    f"DROP TABLE {table.title}",
                    f"ALTER TABLE {copied} RENAME TO {table.name}",
                ]
            )
        return Ddl([f"DROP TABLE {table.title}", self._create_statement(table.title)])

    def _truncate(self, table: FoundTable) -> Ddl:
        more = self.random.choice(("", " RESTART IDENTITY", " CASCADE"))
        only = self.random.choice(("", "ONLY "))
        return Ddl([f"TRUNCATE {only}{table.title}{more}"])

    def _rewrite(self, table: FoundTable) -> Ddl:
        statements = [f"VACUUM FULL {table.title}", f"VACUUM FREEZE {table.title}"]
        if table.key is not None:
            statements.append(f"CLUSTER {table.title} USING {table.key}")
        statement = self.random.choice(statements)
        return Ddl([statement], is_alone=True)

    def _harmless(self, table: FoundTable) -> Ddl:
        column = self.there.one_of(table.columns)
        name = "id" if column is None else column.name
        number = next(self._numbers)
        alter = f"ALTER TABLE {table.title}"
        return self.random.choice(
            (
                Ddl([f"GRANT SELECT ON {table.title} TO PUBLIC"]),
                Ddl([f"COMMENT ON TABLE {table.title} IS 'a comment'"]),
                Ddl([f"COMMENT ON COLUMN {table.title}.{name} IS 'a comment'"]),
                Ddl([f"CREATE INDEX i{number} ON {table.title} ({name})"]),
                Ddl([f"{alter} ALTER {name} SET STATISTICS 10"]),
                Ddl([f"{alter} ALTER {name} SET STORAGE EXTERNAL"]),
                Ddl([f"{alter} ADD CONSTRAINT c{number} CHECK (id > 0) NOT VALID"]),
                Ddl([f"{alter} ENABLE ROW LEVEL SECURITY"]),
                Ddl([f"{alter} SET (fillfactor = 70)"]),
                Ddl([f"{alter} CLUSTER ON {table.key or 'none'}"]),
                Ddl([f"ANALYZE {table.title}"]),
            )
        )

    def _inherit(self, table: FoundTable) -> Ddl | None:
        if table.parent is not None:
            verbs = [f"NO INHERIT {table.parent}", f"INHERIT {table.parent}"]
        else:
            other = self.there.one_of(
                [one for one in self.there.tables() if one.title != table.title]
            )
            if other is None:
                return None
            verbs = [f"INHERIT {other.title}", f"NO INHERIT {other.title}"]
        forward, back = (f"ALTER TABLE {table.title} {verb}" for verb in verbs)
        return Ddl([forward], [back])

    def _attach(self, table: FoundTable) -> Ddl | None:
        if table.is_partition:
            at = self.there.ask(
                "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = %s::regclass",
                table.title,
            )[0][0]
            return Ddl(
                [f"ALTER TABLE {table.parent} DETACH PARTITION {table.title}"],
                [f"ALTER TABLE {table.parent} ATTACH PARTITION {table.title} {at}"],
            )
        return self._create_partitioned()

    def _unlog(self, table: FoundTable) -> Ddl:
        verbs = ["SET UNLOGGED", "SET LOGGED"]
        forward, back = (f"ALTER TABLE {table.title} {verb}" for verb in verbs)
        return self.random.choice((Ddl([forward], [back]), Ddl([back])))

    def _generate(self, table: FoundTable) -> Ddl | None:
        column = self.there.one_of(table.others)
        if column is None:
            return None
        alter = f"ALTER TABLE {table.title} ALTER {column.name}"
        if column.generated:
            return Ddl([f"{alter} DROP EXPRESSION"])
        if column.identity:
            return Ddl([f"{alter} DROP IDENTITY"])
        return Ddl(
            [
                f"{alter} SET NOT NULL",
                f"{alter} ADD GENERATED BY DEFAULT AS IDENTITY",
            ],
            [f"{alter} DROP IDENTITY"],
        )

    def _many_at_once(self, table: FoundTable) -> Ddl | None:
        name, column = self.there.free_column(table), self.there.one_of(table.others)
        if name is None or column is None:
            return None
        one = self.random.choice(list(self.there.types.values())).name
        return Ddl(
            [
                f"ALTER TABLE {table.title} ADD {name} {one}, DROP {column.name}",
                f"ALTER TABLE {table.title} RENAME {name} TO {column.name}",
            ]
        )
