"""What `./dev bench` concludes from figures, and that it cannot be given nonsense."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
import typer
from deltalake import write_deltalake
from typer.testing import CliRunner

from bench.__main__ import app as whole
from bench.alternatives import ALL
from bench.alternatives.process import Process
from bench.alternatives.tasks import Task
from bench.cases.catalogue import CASES, Case
from bench.cases.peak import Peak
from bench.cases.program import Commits
from bench.cases.running import Running
from bench.cases.steady import backlog, growth
from bench.cdc import measured
from bench.figures import Figure, Line, Measured
from bench.matrix import bench, chosen
from bench.report import Report, as_values, markdown
from bench.targets import TARGETS, Target, verdicts_on
from bench.workload import (
    DELETE,
    DELETES,
    INSERT,
    INSERTS,
    KEY,
    MARKER,
    MIXED,
    UPSERTS,
    Place,
    Source,
    check,
)
from openmirror.protocol.rows import Change, ChangeFile, Marker, apply_file, empty_table
from openmirror.protocol.sequence import FENCED

app = typer.Typer(rich_markup_mode=None)
app.command()(bench)
_OURS, _OTHERS = Line("drain", "rows", "openmirror"), Line("drain", "rows", "by-hand")
_FIGURES = Figure(_OURS, "rows/s", (500.0, 600.0, 9000.0)), Figure(_OTHERS, "rows/s", (100.0,))


@pytest.mark.parametrize(
    ("bounds", "met"),
    [
        ({"at_least": 6.0}, True),
        ({"at_least": 6.1}, False),
        ({"at_most": 6.0}, True),
        ({"at_most": 5.9}, False),
    ],
)
def test_a_target_is_met_by_the_ratio_of_medians(bounds: dict[str, float], met: bool) -> None:
    (verdict,) = verdicts_on([Target("six times", _OURS, _OTHERS, **bounds)], _FIGURES)
    assert verdict.seen == 6.0
    assert verdict.met is met


def test_a_target_without_another_way_bounds_the_figure_itself() -> None:
    (verdict,) = verdicts_on([Target("quick", _OURS, at_most=599)], _FIGURES)
    assert (verdict.seen, verdict.met) == (600.0, False)


def test_a_target_of_which_a_part_was_not_measured_is_left_out() -> None:
    assert verdicts_on([Target("six times", _OURS, _OTHERS, at_least=6)], _FIGURES[:1]) == []


def test_targets_name_cases_and_alternatives_that_exist() -> None:
    cases, names = {case.name for case in CASES}, {alternative.name for alternative in ALL}
    for target in TARGETS:
        for line in filter(None, (target.of, target.over)):
            assert line.case in cases
            assert line.by in names
        assert (target.at_least is None) != (target.at_most is None)


def test_the_help_explains_every_case() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120", "TERM": "dumb"}).stdout
    cases = shown.partition("Cases:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in cases.splitlines()] == [case.name for case in CASES]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "drains"], "there is no case 'drains'"),
        (["--only", ""], "there is no case ''"),
        (["--commits", "0"], "greater than or equal to 1"),
        (["--commits", "many"], "a valid integer"),
        (["--json", "--markdown"], "exclude each other"),
        (["--save", "nowhere/bench.json"], "nowhere is not a folder"),
    ],
)
def test_nonsense_is_refused_before_anything_starts(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_cases_that_take_too_long_run_only_by_name() -> None:
    assert "adjacent-100m" not in [case.name for case in chosen(None)]
    assert [case.name for case in chosen("memory, adjacent-100m")] == ["adjacent-100m", "memory"]


def _report() -> Report:
    measured = Measured("drain", "Drain", "2 tables", _FIGURES, 1.5)
    return Report(
        measured=[measured],
        verdicts=verdicts_on([Target("six times", _OURS, _OTHERS, at_least=7)], _FIGURES),
        machine={"cpu": "2 x a"},
        settings={},
        loads=[0.1, 2.0],
        quick=True,
        seconds=9.0,
        failed={"large": "t has 1 row, expected are 2\nand so on"},
    )


def test_markdown_has_a_table_for_each_case_and_one_of_targets() -> None:
    text = markdown(_report())
    assert "### Drain\n\n|  | openmirror | by hand |\n| --- | ---: | ---: |" in text
    assert "\n| rows | 600 rows/s | 100 rows/s |\n" in text
    assert "\n| six times | ≥ 7 x | 6.00 x | missed |\n" in text
    assert "--quick: fewer and smaller tables" in text
    assert "FAILED: large: t has 1 row, expected are 2  \n" in text


def test_json_has_every_run_and_what_they_depend_on() -> None:
    values = as_values(_report())
    (case,) = values["cases"]  # type: ignore[misc]
    assert case["figures"][0]["runs"] == (500.0, 600.0, 9000.0)
    assert values["targets"][0]["met"] is False  # type: ignore[index]
    assert values["machine"] == {"cpu": "2 x a"}


def test_what_a_source_says_its_files_come_to_is_what_the_interpreter_makes_of_them() -> None:
    source, table = Source("any"), empty_table([KEY])
    for rows, mix in ((300, INSERTS), (200, MIXED), (150, UPSERTS), (90, DELETES), (400, MIXED)):
        changes = [
            Change(Marker(row.pop(MARKER)), row) for row in source.changes(rows, mix).to_pylist()
        ]
        apply_file(table, ChangeFile(tuple(changes[0].row), changes))
    found, expected = source.totals(), table.rows
    assert found.rows == len(expected)
    assert found.keys == sum(int(str(row[KEY])) for row in expected)
    assert found.amounts == sum(int(str(row["amount"])) for row in expected)


def test_a_source_is_the_same_for_everybody_and_stays_within_the_keys_that_it_is_given() -> None:
    one, two = Source("any"), Source("any")
    for rows, mix, within in ((100, INSERTS, None), (30, UPSERTS, None), (10, DELETES, (20, 30))):
        first = one.changes(rows, mix, within)
        assert first.equals(two.changes(rows, mix, within))
    assert first[KEY].to_pylist() == list(range(20, 30))
    assert set(first[MARKER].to_pylist()) == {DELETE}
    assert INSERT not in one.changes(50, UPSERTS)[MARKER].to_pylist()


@pytest.mark.parametrize("wrong", [{"amount": [2, 1]}, {"amount": [1, 3]}, {"id": [0, 2]}])
def test_a_table_with_other_rows_is_noticed(tmp_path: Path, wrong: dict[str, list[int]]) -> None:
    source = Source("any")
    rows = source.changes(2).drop_columns([MARKER])
    write_deltalake(tmp_path / "right", rows)
    check(tmp_path / "right", source.totals())
    for name, values in wrong.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    write_deltalake(tmp_path / "wrong", rows)
    with pytest.raises(RuntimeError, match="expected are"):
        check(tmp_path / "wrong", source.totals())
    with pytest.raises(RuntimeError, match="cannot be read"):
        check(tmp_path / "nowhere", source.totals())


def test_marked_rows_do_not_count_where_live_ones_are_asked_for(tmp_path: Path) -> None:
    source = Source("any")
    rows = source.changes(2).drop_columns([MARKER])
    marks = pa.array([None, None, 1, 1], pa.timestamp("us", "UTC"))
    both = pa.concat_tables([rows, rows]).append_column("_deleted_at", marks)
    write_deltalake(tmp_path / "t", both)
    check(tmp_path / "t", source.totals(), "_deleted_at IS NULL")
    with pytest.raises(RuntimeError, match="expected are"):
        check(tmp_path / "t", source.totals())


def test_a_backlog_counts_files_that_have_landed_and_are_not_committed() -> None:
    waiting = backlog([(0, 2.5), (1, 2.5), (2, 2.5), (3, 3.5)])
    assert waiting == [1, 2, 3, 1]
    assert growth([9, 9, 9, 1, 1, 1, 2, 3, 4]) == 2.0
    assert growth([3]) == 0.0
    assert all(growth([level] * 7) == 0.0 for level, _ in pairwise(range(5)))


def test_commits_are_known_by_the_files_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    commits = Commits(tmp_path)
    assert commits.when(1) is None
    for version, position in enumerate((2, FENCED, 5)):
        txn = f'{{"txn":{{"appId":"a","version":{position}}}}}'
        (log / f"{version:020d}.json").write_text(f'{{"commitInfo":{{}}}}\n{txn}\n')
    assert commits.when(2) == (log / f"{0:020d}.json").stat().st_mtime
    assert commits.when(3) == (log / f"{2:020d}.json").stat().st_mtime
    assert commits.when(6) is None


def test_the_peak_is_of_a_process_and_of_all_that_it_started(tmp_path: Path) -> None:
    def process(pid: int, parent: int, kibibytes: int) -> Path:
        folder = tmp_path / str(pid)
        folder.mkdir(exist_ok=True)
        text = f"Name:\tx\nPid:\t{pid}\nPPid:\t{parent}\nVmHWM:\t{kibibytes} kB\n"
        (folder / "status").write_text(text)
        return folder

    process(1, 0, 10_000)
    process(5, 1, 2048)
    child = process(6, 5, 1024)
    process(7, 1, 50_000)
    peak = Peak(5, tmp_path)
    assert peak.mebibytes is None
    peak.update()
    (child / "status").unlink()  # it has ended
    process(5, 1, 3072)
    peak.update()
    assert peak.mebibytes == 4.0


def test_a_case_that_fails_costs_only_its_own_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(running: Running) -> Measured:
        raise RuntimeError("t has 1 row, expected are 2")

    def works(running: Running) -> Measured:
        return Measured("drain", "Drain", "2 tables", _FIGURES)

    cases = [Case("cold", "Cold", fails), Case("drain", "Drain", works)]
    monkeypatch.setattr("bench.matrix.chosen", lambda only: cases)
    result = CliRunner().invoke(app, ["--json"])
    assert result.exit_code == 1
    values = json.loads(result.stdout)
    assert values["failed"] == {"cold": "t has 1 row, expected are 2"}
    assert [case["case"] for case in values["cases"]] == ["drain"]
    assert len(values["loads"]) == 3


def test_a_process_that_ends_is_quoted(tmp_path: Path) -> None:
    process = Process("no-such-way", tmp_path / "root", tmp_path / "log")
    task = Task(str(tmp_path), "bench", ("t",), 1, 1, "merge")
    with pytest.raises(RuntimeError, match=r"exit code 1:[\s\S]*KeyError: 'no-such-way'"):
        process.do(task)
    process.stop()


def test_a_process_says_how_long_a_task_took(tmp_path: Path) -> None:
    place, source = Place(tmp_path), Source("any")
    process = Process("delta-rs", tmp_path, tmp_path / "log")
    for sequence, mix in enumerate((INSERTS, MIXED), start=1):
        place.publish("t", sequence, source.changes(100, mix))
        assert (
            process.do(Task(str(tmp_path), place.mirror, ("t",), sequence, sequence, "merge")) > 0
        )
    process.stop()
    check(place.delta("t"), source.totals())


@pytest.mark.parametrize("options", [["--quick", "soak"], ["--save", "x.json", "cdc"]])
def test_options_of_the_whole_bench_are_refused_before_a_part_of_it(options: list[str]) -> None:
    refused = CliRunner().invoke(whole, [*options, "--no-such-option"])
    assert refused.exit_code == 2
    assert f"is not for {options[-1]}" in " ".join(refused.output.split())


def test_a_quick_bench_of_databases_takes_no_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(measured, "_MEASURES")
    refused = CliRunner().invoke(whole, ["cdc", "--quick", "--seconds", "60"])
    assert refused.exit_code == 2
    assert "--quick" in refused.output
