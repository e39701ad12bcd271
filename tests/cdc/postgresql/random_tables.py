"""Tables of random types with hostile values, and random transactions that change them, by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import psycopg
from psycopg import errors, sql

SCHEMA = "random tables"
_TEXTS = (
    *(
        "",
        " ",
        "NULL",
        "null",
        "\\N",
        "\\.",
        "{}",
        "a",
        "A",
        "a ",
        '"',
        "'",
        ",",
        "\\",
        "é",
        "日本",
    ),
    *("two\nlines", "\r", "\r\n", "\t", "\x01", "\ufeff", "\U0001f600", '"quoted", and\n"more"'),
)
_SHORT = ("", " ", "a", "A", "a ", "\\N", '"', ",", "é", "\n", "'")
_REFUSED = (
    errors.UniqueViolation,
    errors.LockNotAvailable,  # a row is another transaction's
    errors.DeadlockDetected,
    errors.ProgramLimitExceeded,  # a key that is too long for its index
)
_INSTANTS = ("0001-01-01 00:00", "1582-10-10 12:34:56.789", "1969-12-31 23:59:59.999999")
TYPE_STATEMENTS = """
CREATE TYPE mood AS ENUM ('sad', 'with, comma', '', '"');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN posint AS int CHECK (value > 0);
CREATE DOMAIN price AS numeric(10, 2);
CREATE DOMAIN many AS int[];
"""


@dataclass(frozen=True)
class RandomType:
    """A type and some of its values, as PostgreSQL reads them."""

    name: str
    values: Sequence[str]
    is_key: bool = False
    """Whether it is used for keys, too."""
    is_large: bool = False
    """Whether values may be so large that an update of other columns leaves them out."""

    def value(self, random: Random) -> str:
        """Choose a value."""
        if self.is_large and random.random() < 0.3:
            return self._large(random)
        return random.choice(self.values)

    def _large(self, random: Random) -> str:
        digits = f"{random.getrandbits(64):016x}" * random.choice((150, 600, 1500))
        forms = {"bytea": "\\x{}", "jsonb": '{{"k": "{}"}}', "text[]": "{{{},NULL}}"}
        return forms.get(self.name, "{}").format(digits)


TYPES = (
    RandomType("smallint", ("-32768", "32767", "0"), is_key=True),
    RandomType("integer", ("-2147483648", "2147483647", "0", "7"), is_key=True),
    RandomType("bigint", ("-9223372036854775808", "9223372036854775807", "5"), is_key=True),
    RandomType(
        "numeric",
        ("NaN", "Infinity", "-Infinity", "1.50", "1.5", "0", "0.000", "1e40", "-1e-40", "-2"),
        is_key=True,
    ),
    RandomType("numeric(12,3)", ("0", "-999999999.999", "1.5", "0.001"), is_key=True),
    RandomType("numeric(38,10)", ("0", "9999999999999999999999999999.9999999999", "-0.0000000001")),
    RandomType("numeric(5,-2)", ("123456", "-9999900", "49")),
    RandomType("numeric(2,5)", ("0.00012", "-0.00099", "0")),
    RandomType("numeric(60,10)", ("NaN", "-1e49", "1234567890123456789012345678901234567890.5")),
    RandomType("real", ("0", "-0", "NaN", "Infinity", "-Infinity", "3.4e38", "1e-45", "0.1")),
    RandomType(
        "double precision",
        ("0", "-0", "NaN", "Infinity", "-Infinity", "1.7976931348623157e308", "5e-324", "0.1"),
        is_key=True,
    ),
    RandomType("boolean", ("t", "f")),
    RandomType("text", _TEXTS, is_key=True, is_large=True),
    RandomType("varchar(20)", _SHORT, is_key=True),
    RandomType("char(5)", _SHORT, is_key=True),
    RandomType("name", _SHORT, is_key=True),
    RandomType('"char"', ("", "a", " ", "\\", '"')),
    RandomType("bytea", ("\\x", "\\x00", "\\x0000", "\\xff5c0a22"), is_key=True, is_large=True),
    RandomType("date", ("0001-01-01", "9999-12-31", "1582-10-10", "2024-02-29"), is_key=True),
    RandomType("timestamp", (*_INSTANTS, "9999-12-31 23:59:59.999999"), is_key=True),
    RandomType("timestamp(3)", _INSTANTS),
    RandomType(
        "timestamptz",
        ("2024-02-29 12:00+05:30", "1890-01-01 00:00+00", "9999-12-31 23:59:59.999999+00"),
        is_key=True,
    ),
    RandomType("time", ("00:00", "24:00", "23:59:59.999999", "00:00:00.000001"), is_key=True),
    RandomType("timetz", ("12:00+00", "13:00+01", "24:00+00", "00:00-15:59:59"), is_key=True),
    RandomType(
        "interval", ("1 mon", "30 days", "24:00", "-1 day +02:03:04.000005", "0"), is_key=True
    ),
    RandomType("uuid", ("00000000-0000-0000-0000-000000000001", "f" * 32), is_key=True),
    RandomType("json", ('{"b": 1,  "a":2, "a":3}', "null", "1.10", '"\\u00e9\\n"', "[1,  2]")),
    RandomType("jsonb", ('{"a": 1.0}', '{"a": 1.00}', "null", "[]"), is_key=True, is_large=True),
    RandomType("bit(3)", ("000", "101"), is_key=True),
    RandomType("varbit", ("", "0", "00", "1", "0001"), is_key=True),
    RandomType("inet", ("10.0.0.1", "10.0.0.1/8", "::1", "fe80::1/64"), is_key=True),
    RandomType("macaddr", ("08:00:2b:01:02:03",)),
    RandomType("money", ("12.34", "-0.01", "92233720368547758.07", "0")),
    RandomType("oid", ("0", "4294967295")),
    RandomType("xid8", ("0", "18446744073709551615")),
    RandomType("pg_lsn", ("0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"), is_key=True),
    RandomType("tid", ("(0,1)", "(4294967295,65535)")),
    RandomType("point", ("(1.5,-0)", "(NaN,Infinity)")),
    RandomType("box", ("(0,0),(2,1)",)),
    RandomType("int4range", ("[1,5]", "empty", "(,)"), is_key=True),
    RandomType("int4multirange", ("{[1,3),[5,9)}", "{}")),
    RandomType("tstzrange", ("[2024-01-01 00:00+00,infinity)", "empty")),
    RandomType("tsvector", ("a:1A b:2 'it''s'", "")),
    RandomType("tsquery", ("'fat' & ( 'rat' | !'cat' )", "'a b' <-> 'c'")),
    RandomType("jsonpath", ('$."a"[*]?(@ > 2)', "strict $")),
    RandomType("mood", ("sad", "with, comma", "", '"'), is_key=True),
    RandomType("pair", ('(1,"x,""y")', "(,)", '(,"")')),
    RandomType("posint", ("1", "2147483647"), is_key=True),
    RandomType("price", ("1.50", "-99999999.99")),
    RandomType("many", ("{1,2}", "{{1,2},{3,NULL}}", "{}")),
    RandomType("int[]", ("{}", "{NULL}", "{1,2}", "{{1,2},{3,4}}", "{{{1}}}")),
    RandomType("double precision[]", ("{NaN,Infinity,NULL}", "{-0,1e-10,1.5}")),
    RandomType("numeric[]", ("{1.50,2}", "{NaN,NULL,1e40}")),
    RandomType("boolean[]", ("{t,f,NULL}", "{{t},{f}}")),
    RandomType(
        "text[]",
        ('{"say \\"hi\\"","a,b","back\\\\slash","",NULL,"NULL","{x}"," "}', '{{"\n",é},{"",NULL}}'),
        is_large=True,
    ),
    RandomType("char(3)[]", ('{a,NULL,""}',)),
    RandomType("timestamptz[]", ('{"2024-02-29 12:00:00+02",NULL,-infinity}',)),
    RandomType("date[]", ('{infinity,"0044-03-15 BC",NULL}',)),
    RandomType("bytea[]", ('{"\\\\x00ff5c22","",NULL}',)),
    RandomType("jsonb[]", ('{"{\\"a\\": [1, \\"\\\\\\"\\"]}",NULL}', "{}")),
    RandomType("box[]", ("{(0,0),(1,1);NULL}",)),
    RandomType("mood[]", ('{sad,"with, comma",""}', "{NULL}")),
    RandomType("pair[]", ('{"(1,x)",NULL}',)),
    RandomType("int4range[]", ('{"[1,5)",empty,NULL}',)),
)
"""Types of all kinds, with values that all have a place in Delta."""
_FROM_15 = frozenset({"numeric(5,-2)", "numeric(2,5)"})


@dataclass(frozen=True)
class RandomTable:
    """One table."""

    name: str
    columns: Mapping[str, RandomType]
    keys: tuple[str, ...]

    @property
    def title(self) -> sql.Identifier:
        """Its name, with its schema."""
        return sql.Identifier(SCHEMA, self.name)

    @property
    def others(self) -> list[str]:
        """The columns that are not of its key."""
        return [name for name in self.columns if name not in self.keys]


@dataclass
class RandomTables:
    """Changes a database by a seed; each call goes on where the one before it ended."""

    random: Random
    connection: psycopg.Connection
    """Each statement is a transaction of its own. It may be replaced after a crash."""
    tables: list[RandomTable] = field(default_factory=list)
    loses: bool = False
    """Whether commits may be lost in a crash of the server, as without `synchronous_commit`."""
    _prepared: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    def begin(self) -> None:
        """Make types and tables, with some rows."""
        self._prepare_connection(create=True)
        for statement in filter(str.strip, TYPE_STATEMENTS.split(";\n")):
            self.connection.execute(statement)  # type: ignore[call-overload]
        for _ in range(self.random.randint(2, 5)):
            self.tables.append(self._make_table())
        with self.connection.transaction():
            for table in self.tables:
                for _ in range(self.random.choice((0, 3, 30))):
                    self._tried(self._insert, table)

    def reconnected(self, connection: psycopg.Connection) -> None:
        """Go on by another connection, after a crash; prepared transactions have survived it."""
        self.connection = connection
        self._prepare_connection(create=False)
        there = connection.execute("SELECT gid FROM pg_prepared_xacts").fetchall()
        self._prepared = sorted(gid for (gid,) in there)

    def transactions(self, many: int) -> None:
        """Commit, roll back, or prepare, so many."""
        for _ in range(many):
            if self._prepared and self.random.random() < 0.3:
                self._end_prepared()
            elif self.random.random() < 0.04:
                self._add_column()
            else:
                self._transaction()

    def end(self) -> None:
        """Commit or roll back what is prepared."""
        while self._prepared:
            self._end_prepared()

    def _prepare_connection(self, *, create: bool) -> None:
        name = sql.Identifier(SCHEMA)
        if create:
            self.connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        self.connection.execute(sql.SQL("SET search_path = {}, public").format(name))
        # A prepared transaction holds its rows until it ends.
        self.connection.execute("SET lock_timeout = '30ms'")
        if self.loses and not create:
            self.connection.execute("SET synchronous_commit = off")

    def _make_table(self) -> RandomTable:
        is_old = self.connection.info.server_version < 150000
        types = [one for one in TYPES if not is_old or one.name not in _FROM_15]
        keyed = [one for one in types if one.is_key]
        keys = {f"k{n}": t for n, t in enumerate(self.random.sample(keyed, self._few()))}
        more = self.random.sample(types, self.random.randint(0, 9))
        columns = {**keys, **{f"c {n}": one for n, one in enumerate(more)}}
        names = list(columns)
        self.random.shuffle(names)
        table = RandomTable(f"t{next(self._numbers)}", {n: columns[n] for n in names}, tuple(keys))
        self._create(table)
        return table

    def _few(self) -> int:
        return self.random.choice((1, 1, 1, 2, 3))

    def _create(self, table: RandomTable) -> None:
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(one.name))  # type: ignore[arg-type]
            for name, one in table.columns.items()
        ]
        keys = sql.SQL(", ").join(map(sql.Identifier, table.keys))
        listed = sql.SQL(", ").join(columns)
        create = sql.SQL("CREATE TABLE {} ({}, PRIMARY KEY ({}))")
        self.connection.execute(create.format(table.title, listed, keys))
        for name, one in table.columns.items():
            if one.is_large:
                # Or they would be compressed so well that they stay in their rows.
                change = sql.SQL("ALTER TABLE {} ALTER {} SET STORAGE EXTERNAL")
                self.connection.execute(change.format(table.title, sql.Identifier(name)))
        if self.random.random() < 0.3:
            full = sql.SQL("ALTER TABLE {} REPLICA IDENTITY FULL")
            self.connection.execute(full.format(table.title))

    def _transaction(self) -> None:
        with self.connection.transaction() as transaction:
            for _ in range(self.random.randint(1, 8)):
                self._step(depth=0)
            if self.random.random() < 0.1:
                raise psycopg.Rollback(transaction)
            if len(self._prepared) < 3 and self.random.random() < 0.1:
                name = f"random_{next(self._numbers)}_{self.random.getrandbits(32)}"
                self.connection.execute(sql.SQL("PREPARE TRANSACTION {}").format(sql.Literal(name)))
                self._prepared.append(name)
                # The COMMIT that follows finds no transaction, which is a warning of the server.

    def _step(self, depth: int) -> None:
        if depth < 2 and self.random.random() < 0.15:
            with self.connection.transaction() as savepoint:
                for _ in range(self.random.randint(1, 3)):
                    self._step(depth + 1)
                if self.random.random() < 0.5:
                    raise psycopg.Rollback(savepoint)
            return
        changes = (
            *(self._insert,) * 4,
            *(self._update,) * 4,
            *(self._change_key,) * 2,
            *(self._delete,) * 2,
            self._upsert,
            self._replace,
        )
        change = self._truncate if self.random.random() < 0.02 else self.random.choice(changes)
        self._tried(change, self.random.choice(self.tables))

    def _tried(self, change: object, table: RandomTable) -> None:
        assert callable(change)
        try:
            with self.connection.transaction():
                change(table)
        except _REFUSED:
            return

    def _insert(self, table: RandomTable, conflict: str = "") -> None:
        names = list(table.columns)
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) {}").format(
            table.title,
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join(self._value(table, name) for name in names),
            sql.SQL(conflict),  # type: ignore[arg-type]
        )
        self.connection.execute(query)

    def _upsert(self, table: RandomTable) -> None:
        keys = sql.SQL(", ").join(map(sql.Identifier, table.keys))
        sets = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(n)) for n in table.columns]
        conflict = sql.SQL("ON CONFLICT ({}) DO UPDATE SET {}").format(
            keys, sql.SQL(", ").join(self.random.sample(sets, self.random.randint(1, len(sets))))
        )
        self._insert(table, conflict.as_string(self.connection))

    def _update(self, table: RandomTable) -> None:
        if table.others:
            chosen = self.random.sample(table.others, self.random.randint(1, len(table.others)))
            self._set(table, chosen)

    def _change_key(self, table: RandomTable) -> None:
        self._set(table, self.random.sample(table.keys, self.random.randint(1, len(table.keys))))

    def _replace(self, table: RandomTable) -> None:
        self._delete(table)
        self._insert(table)

    def _set(self, table: RandomTable, names: Sequence[str]) -> None:
        sets = [
            sql.SQL("{} = {}").format(sql.Identifier(name), self._value(table, name))
            for name in names
        ]
        query = sql.SQL("UPDATE {} SET {} WHERE ctid = ANY (ARRAY({}))")
        some = self._some(table)
        self.connection.execute(query.format(table.title, sql.SQL(", ").join(sets), some))

    def _delete(self, table: RandomTable) -> None:
        query = sql.SQL("DELETE FROM {} WHERE ctid = ANY (ARRAY({}))")
        self.connection.execute(query.format(table.title, self._some(table)))

    def _truncate(self, table: RandomTable) -> None:
        some = {table.name: table, **{t.name: t for t in self.random.sample(self.tables, 1)}}
        titles = sql.SQL(", ").join(one.title for one in some.values())
        self.connection.execute(sql.SQL("TRUNCATE {}").format(titles))

    def _add_column(self) -> None:
        table = self.random.choice(self.tables)
        types = list(table.columns.values())
        name, one = f"added {next(self._numbers)}", self.random.choice(types)
        change = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}")
        try:
            with self.connection.transaction():
                self.connection.execute("SET LOCAL synchronous_commit = on")
                self.connection.execute(
                    change.format(table.title, sql.Identifier(name), sql.SQL(one.name))  # type: ignore[arg-type]
                )
        except errors.LockNotAvailable:
            return
        at = self.tables.index(table)
        self.tables[at] = RandomTable(table.name, {**table.columns, name: one}, table.keys)

    def _some(self, table: RandomTable) -> sql.Composed:
        """Select some rows, the same ones each time that a seed is used."""
        keys = sql.SQL(", ").join(map(sql.Identifier, table.keys))
        query = sql.SQL("SELECT ctid FROM {} ORDER BY {} OFFSET {} LIMIT {}")
        at, many = self.random.choice((0, 0, 1, 2, 5, 9)), self.random.choice((1, 1, 2, 50))
        return query.format(table.title, keys, sql.Literal(at), sql.Literal(many))

    def _value(self, table: RandomTable, name: str) -> sql.Composable:
        one = table.columns[name]
        if name not in table.keys and self.random.random() < 0.2:
            return sql.SQL("NULL")
        return sql.SQL("CAST({} AS {})").format(
            sql.Literal(one.value(self.random)),
            sql.SQL(one.name),  # type: ignore[arg-type]
        )

    def _end_prepared(self) -> None:
        name = self._prepared.pop(self.random.randrange(len(self._prepared)))
        how = "COMMIT" if self.random.random() < 0.7 else "ROLLBACK"
        self.connection.execute(sql.SQL(f"{how} PREPARED {{}}").format(sql.Literal(name)))  # type: ignore[arg-type]
