"""Spark's own driver for storage accounts, in its mode for hierarchical namespaces."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from openmirror.cli.serve_verb import how_to_reach
from openmirror.emulator.certificate import certificate
from openmirror.settings import Settings
from openmirror.spark.jars import class_path
from tests.emulator_server import EndpointServer, endpoint_server

ACCOUNT = "abfsdriver"
"""Hadoop keeps a client for each account's name: this one is of no other test."""
SPARKS_JARS = Path(pyspark.__file__).parent / "jars" / "*"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[EndpointServer]:
    with endpoint_server(tmp_path / "root", account=ACCOUNT) as server:
        yield server


def session(spark: SparkSession, server: EndpointServer) -> SparkSession:
    """With the settings that `openmirror serve` prints for it."""
    made = spark.newSession()
    shown = how_to_reach(Settings(serve_account=ACCOUNT), server.url, None)
    settings = re.findall(r"--conf spark\.hadoop\.([^=]+)=(\S+)", shown)
    assert settings
    for name, value in settings:
        made.conf.set(name, value)
    return made


def test_delta_and_the_file_system_work_through_the_driver(
    spark: SparkSession, served: EndpointServer
) -> None:
    own = session(spark, served)
    base = f"abfs://lake@{ACCOUNT}.dfs.core.windows.net/m"
    table = f"{base}/Tables/dbo/a b%20[1]"
    frame = own.createDataFrame([(n, "old") for n in range(4)], "k int, v string")
    frame.write.format("delta").save(table)
    own.createDataFrame([(3, "new"), (4, "new")], "k int, v string").createOrReplaceTempView("s")
    own.sql(
        f"MERGE INTO delta.`{table}` t USING s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = own.read.format("delta").load(table).orderBy("k").collect()
    assert [tuple(row) for row in rows] == [
        (0, "old"),
        (1, "old"),
        (2, "old"),
        (3, "new"),
        (4, "new"),
    ]
    log = served.root / "lake/m/Tables/dbo/a b%20[1]/_delta_log"
    assert sorted(path.name for path in log.glob("*.json")) == [f"{n:020}.json" for n in (0, 1)]
    assert not list(served.root.rglob("*.tmp"))
    files(own, served, base)


@pytest.mark.spark
def test_the_driver_speaks_https_with_the_trust_store_that_serve_prints(tmp_path: Path) -> None:
    """A JVM of its own: what is trusted is read once in each."""
    trusted, key = certificate(tmp_path / "with a space", ["127.0.0.1"])
    with endpoint_server(tmp_path / "root", account=ACCOUNT, certificate=(trusted, key)) as server:
        shown = how_to_reach(Settings(serve_account=ACCOUNT), server.url, trusted)
        (java_options,) = shlex.split(re.findall(r"export JAVA_TOOL_OPTIONS=(.*)", shown)[0])
        (base,) = re.findall(r"(abfss://.*)/\.\.\.", shown)
        settings = re.findall(r"--conf spark\.hadoop\.(\S+)", shown)
        (tmp_path / "core-site.xml").write_text("<configuration/>")
        (tmp_path / "local").write_bytes(b"over TLS")
        ended = subprocess.run(
            [
                *(
                    f"{os.environ['JAVA_HOME']}/bin/java",
                    "-cp",
                    f"{tmp_path}:{class_path()}:{SPARKS_JARS}",
                ),
                *(
                    "org.apache.hadoop.fs.FsShell",
                    *(word for one in settings for word in ("-D", one)),
                ),
                *("-put", str(tmp_path / "local"), f"{base}/put"),
            ],
            env={**os.environ, "JAVA_TOOL_OPTIONS": java_options},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert (server.root / "landing/put").read_bytes() == b"over TLS"


def files(own: SparkSession, served: EndpointServer, base: str) -> None:
    """What the driver asks for beyond Delta, through Hadoop's own interface."""
    jvm: Any = own._jvm
    path = jvm.org.apache.hadoop.fs.Path
    system = path(base).getFileSystem(own._jsparkSession.sessionState().newHadoopConf())
    assert system.mkdirs(path(f"{base}/x/y"))
    out = system.create(path(f"{base}/x/y/f"), False)
    out.write(bytearray(b"abc"))
    out.hflush()
    assert (served.root / "lake/m/x/y/f").read_bytes() == b"abc"
    out.write(bytearray(b"def"))
    out.close()
    appended = system.append(path(f"{base}/x/y/f"))
    appended.write(bytearray(b"ghi"))
    appended.close()
    assert (served.root / "lake/m/x/y/f").read_bytes() == b"abcdefghi"
    with pytest.raises(Exception, match="FileAlreadyExists"):
        system.create(path(f"{base}/x/y/f"), False)
    system.create(path(f"{base}/x/y/f"), True).close()
    assert system.getFileStatus(path(f"{base}/x/y/f")).getLen() == 0
    system.setXAttr(path(f"{base}/x/y/f"), "user.by", bytearray(b"me"))
    assert bytes(system.getXAttr(path(f"{base}/x/y/f"), "user.by")) == b"me"
    permission = jvm.org.apache.hadoop.fs.permission.FsPermission
    system.setPermission(path(f"{base}/x/y/f"), permission("640"))
    assert system.getFileStatus(path(f"{base}/x/y/f")).getPermission().toString() == "rw-r-----"
    assert system.getAclStatus(path(f"{base}/x")).getOwner()
    assert system.rename(path(f"{base}/x/y"), path(f"{base}/z"))
    assert [status.getPath().getName() for status in system.listStatus(path(f"{base}/z"))] == ["f"]
    assert not system.rename(path(f"{base}/none"), path(f"{base}/w"))
    assert system.delete(path(f"{base}/z"), True)
    assert not system.exists(path(f"{base}/z"))
    system.close()
