"""scripts/deploy.sh runs the right programs with the right words, in an order that loses nothing.

az, databricks and ./dev are stand-ins that write down what they are given; the words that az and
databricks get are held to the same tables as every line of the documents.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.infra.commands.finding import ROOT, CommandLine, shell_blocks
from tests.infra.commands.options import Table, mistakes

# In sh, and nothing but it, since a deployment starts a dozen of them. A call is its words, each
# ended by a NUL, and the variables that it saw, with a line of its own behind either.
_STAND_IN = """#!/bin/sh
here={folder}
{{
    printf '%s\\0' "${{0##*/}}" "$@"
    printf '\\n%s\\n' {end_of_words}
    export -p
    printf '\\n%s\\n' {end}
}} >>"$here/calls"
words=" ${{0##*/}} $* "
{answers}
"""
_ANSWER = """
if {matches} read -r left <"$here/left.{number}" && [ "$left" -gt 0 ]; then
    echo $((left - 1)) >"$here/left.{number}"
    printf '%s' {out}
    exit {code}
fi
"""
_END_OF_WORDS = "--end of its words--"
_END = "--end of a call--"

OUTPUTS = {
    # As Azure spells them.
    "functioN_APP": "func-openmirror-abc123",
    "openmirroR_ROOT": "https://st.dfs.core.windows.net",
    "OPENMIRROR_QUEUES": "https://st.queue.core.windows.net",
    "functionS_CLIENT_ID": "11111111-f",
    "runneR_CLIENT_ID": "22222222-r",
    "applicationinsightS_CONNECTION_STRING": "InstrumentationKey=k;IngestionEndpoint=https://i/",
    "databrickS_WORKSPACE_URL": "",
}
WORKSPACE = "https://adb-1.2.azuredatabricks.net"
JOBS = {
    "runner": {"id": "777", "url": f"{WORKSPACE}/jobs/777?o=12"},
    "continuous": {"id": "778", "continuous": {"pause_status": "PAUSED"}},
}
ALWAYS_ON = {**JOBS, "continuous": {"id": "778", "continuous": {"pause_status": "UNPAUSED"}}}
ME = [{"principalId": "33333333-m", "principalType": "User"}]
ROW = "a file has become a row"


@dataclass
class Deploying:
    """A checkout with the script, and stand-ins for all that it runs."""

    folder: Path
    answers: list[tuple[Sequence[str], str, int, int]] = field(default_factory=list)
    done: subprocess.CompletedProcess[str] | None = None

    @classmethod
    def make(cls, folder: Path) -> Deploying:
        """One in a folder with an odd name."""
        root = folder / "a 'checkout'"
        for place in ("scripts", "dist", "infra/bicep", ".venv/bin", "stand ins"):
            (root / place).mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "deploy.sh", root / "scripts")
        for file in ("small.parameters.json", "data.bicep", "main.bicep"):
            shutil.copy(ROOT / "infra/bicep" / file, root / "infra/bicep")
        (root / ".venv/bin/python").symlink_to(sys.executable)
        (root / "dist" / "openmirror-functions-1.2.3.zip").touch()
        for name in ("az", "databricks", "sleep"):
            (root / "stand ins" / name).symlink_to(root / "dev")
        self = cls(root)
        self.outputs()
        self.jobs(JOBS)
        self.before()
        return self

    def outputs(self, **changed: str) -> None:
        values = {**OUTPUTS, **changed}
        outputs = {name: {"type": "String", "value": value} for name, value in values.items()}
        self.answer(["az", "stack", "group", "show"], out=json.dumps(outputs))

    def jobs(self, made: Mapping[str, object]) -> None:
        """Those that the bundle has made."""
        summary = json.dumps({"resources": {"jobs": made}})
        self.answer(["databricks", "bundle", "summary"], out=summary)

    def answer(
        self, words: Sequence[str], *, out: str = "", code: int = 0, times: int = 99
    ) -> None:
        """What a stand-in answers to a call with these words in it; the last answer counts."""
        self.answers.insert(0, (words, out, code, times))

    def before(self, *deployments: Mapping[str, str]) -> None:
        """What the stacks of the group were given; they are called after the parameter `name`."""
        stacks: list[dict[str, object]] = [
            {"name": given.get("name", "openmirror"), "given": _values(given)}
            for given in deployments
        ]
        stacks += [{"name": "openmirror-data", "given": None}, {"name": "theirs", "given": {}}]
        self.answer(["az", "stack", "group", "list"], out=json.dumps(stacks))

    def parameters(self, file: str = "mine.json", /, **values: object) -> Path:
        path = self.folder / file
        path.write_text(json.dumps({"parameters": _values(values)}))
        return path

    def run(
        self,
        *options: str | Path,
        group: str = "rg",
        env: Mapping[str, str] | None = None,
        at: str | Path = "/",
    ) -> int:
        (self.folder / "dev").write_text(self._stand_in())
        (self.folder / "dev").chmod(0o755)
        (self.folder / "calls").write_text("")
        self.done = subprocess.run(
            ["sh", self.folder / "scripts" / "deploy.sh", "--resource-group", group, *options],
            cwd=at,
            env={"PATH": f"{self.folder / 'stand ins'}:{os.environ['PATH']}", **(env or {})},
            capture_output=True,
            text=True,
        )
        return self.done.returncode

    @property
    def shown(self) -> str:
        assert self.done is not None
        return self.done.stderr

    @property
    def calls(self) -> list[list[str]]:
        return [words for words, _ in self._log()]

    def seen_by(self, *words: str) -> dict[str, str]:
        """The variables for Databricks that a call saw."""
        return next(env for call, env in self._log() if call[: len(words)] == list(words))

    def _stand_in(self) -> str:
        rules = ""
        for number, (words, out, code, times) in enumerate(self.answers):
            (self.folder / f"left.{number}").write_text(f"{times}\n")
            matches = "".join(
                f'[ -z "${{words##*{shlex.quote(f" {word} ")}*}}" ] && ' for word in words
            )
            rules += _ANSWER.format(number=number, matches=matches, out=shlex.quote(out), code=code)
        return _STAND_IN.format(
            folder=shlex.quote(str(self.folder)),
            end_of_words=shlex.quote(_END_OF_WORDS),
            end=shlex.quote(_END),
            answers=rules,
        )

    def _log(self) -> Iterator[tuple[list[str], dict[str, str]]]:
        for call in (self.folder / "calls").read_text().split(f"\n{_END}\n")[:-1]:
            words, exported = call.split(f"\n{_END_OF_WORDS}\n")
            seen = [
                one.split("=", 1)
                for one in shlex.split(exported)
                if one.startswith(("BUNDLE_", "DATABRICKS_"))
            ]
            yield words.removesuffix("\0").split("\0"), dict(seen)

    def changes(self) -> list[str]:
        """The calls that change something or check it, by their first words."""
        kinds = {
            ("dev", "openmirror", "azure", "preflight"): "preflight",
            ("az", "deployment", "group", "what-if"): "what-if",
            ("az", "stack", "group", "create"): "main",
            ("databricks", "bundle", "deploy"): "runner",
            ("dev", "package"): "package",
            ("az", "functionapp", "deployment", "source"): "app",
            ("dev", "openmirror", "azure", "publish"): "app",
            ("dev", "openmirror", "azure", "verify"): "verify",
        }
        return [
            "data" if name == "main" and _template(call) == "data.bicep" else name
            for call in self.calls
            for words, name in kinds.items()
            if call[: len(words)] == list(words)
        ]

    def stacks(self, template: str) -> list[list[str]]:
        """Each time that the stack of a template was deployed."""
        every = [call for call in self.calls if call[:4] == [*CREATE]]
        return [call for call in every if _template(call) == template]

    @property
    def mains(self) -> list[list[str]]:
        """The Databricks parameters of each deployment of what is not data."""
        return [
            [word for word in call if word.startswith("databricks")]
            for call in self.stacks("main.bicep")
        ]

    def call(self, *words: str) -> list[str]:
        """The one call that begins with these words."""
        [found] = [call for call in self.calls if call[: len(words)] == list(words)]
        return found


CREATE = ("az", "stack", "group", "create")


def _template(call: list[str]) -> str:
    return value_after(call, "--template-file").rpartition("/infra/bicep/")[2]


def _values(given: Mapping[str, object]) -> dict[str, object]:
    return {name: {"value": value} for name, value in given.items()}


def databricks(job: str, workspace: str = WORKSPACE) -> list[str]:
    """What the template is given."""
    return [f"databricksWorkspaceUrl={workspace}", f"databricksJobId={job}"]


@pytest.fixture
def deploying(tmp_path: Path) -> Deploying:
    return Deploying.make(tmp_path)


def value_after(call: list[str], option: str) -> str:
    return call[call.index(option) + 1]


def given_to(call: list[str]) -> dict[str, object]:
    """The parameters of the file that a template is given."""
    found: dict[str, object] = json.loads(value_after(call, "--parameters"))
    return found


def test_the_first_deployment_goes_data_main_package_app_verify(deploying: Deploying) -> None:
    assert deploying.run() == 0, deploying.shown
    assert deploying.changes() == ["preflight", "data", "main", "package", "app", "verify"]
    data, main = (call for call in deploying.calls if call[:4] == [*CREATE])
    assert value_after(data, "--name") == "openmirror-data"
    assert value_after(main, "--name") == "openmirror"
    assert deploying.mains == [databricks("", "")]
    app = deploying.call("az", "functionapp")
    assert value_after(app, "--name") == "func-openmirror-abc123"
    assert value_after(app, "--src").endswith("/dist/openmirror-functions-1.2.3.zip")
    assert value_after(app, "--build-remote") == "true"


def test_every_call_of_az_and_databricks_is_one_that_they_take(deploying: Deploying) -> None:
    assert deploying.run("--databricks-target", "prod", "--vendor") == 0, deploying.shown
    lines = [CommandLine("deploy.sh", call[0], tuple(call[1:])) for call in deploying.calls]
    wrong = [
        found
        for line in lines
        if line.program in ("az", "databricks")
        for found in mistakes(line, Table.read(line.program))
    ]
    assert not wrong
    assert {line.program for line in lines} == {"az", "databricks", "dev"}


def test_the_runner_is_deployed_between_template_and_app_and_its_job_given_to_the_app(
    deploying: Deploying,
) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    assert deploying.run() == 0, deploying.shown
    assert deploying.changes() == [
        *("preflight", "data", "main", "runner", "main", "package", "app", "verify")
    ]
    assert deploying.mains == [databricks("", ""), databricks("777")]


def test_the_bundle_is_given_what_the_deployment_made(deploying: Deploying) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    assert deploying.run(env={"BUNDLE_VAR_queues": "mine"}) == 0, deploying.shown
    assert deploying.seen_by("databricks", "bundle", "deploy") == {
        "DATABRICKS_HOST": WORKSPACE,
        "BUNDLE_VAR_root": "https://st.dfs.core.windows.net",
        "BUNDLE_VAR_queues": "mine",
        "BUNDLE_VAR_functions_client_id": "11111111-f",
        "BUNDLE_VAR_runner_client_id": "22222222-r",
        "BUNDLE_VAR_telemetry": "InstrumentationKey=k;IngestionEndpoint=https://i/",
    }


def test_an_upgrade_keeps_the_job_that_the_app_had_before(deploying: Deploying) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    deploying.before({"databricksJobId": "777", "databricksWorkspaceUrl": WORKSPACE})
    assert deploying.run() == 0, deploying.shown
    assert deploying.mains == [databricks("777")]


def test_a_second_deployment_in_the_group_takes_nothing_of_the_first(deploying: Deploying) -> None:
    first = {"name": "openmirror", "databricksJobId": "777", "databricksWorkspaceUrl": WORKSPACE}
    deploying.before(first)
    second = deploying.parameters(name="second")
    assert deploying.run("--parameters", second) == 0, deploying.shown
    assert deploying.mains == [databricks("", "")]
    called = {
        value_after(call, "--name")
        for call in deploying.calls
        if call[:2] == ["az", "stack"] and call[3] != "list"
    }
    assert called == {"second", "second-data"}
    assert value_after(deploying.call("dev", "openmirror", "azure", "verify"), "--name") == "second"


def test_each_of_two_deployments_keeps_its_own_job(deploying: Deploying) -> None:
    first = {"databricksJobId": "1", "databricksWorkspaceUrl": WORKSPACE}
    theirs = {"name": "second", "databricksJobId": "2", "databricksWorkspaceUrl": f"{WORKSPACE}2"}
    deploying.before(first, theirs)
    assert deploying.run("--skip-databricks") == 0, deploying.shown
    assert deploying.mains == [databricks("1")]
    second = deploying.parameters(name="second")
    assert deploying.run("--skip-databricks", "--parameters", second) == 0, deploying.shown
    assert deploying.mains == [databricks("2", f"{WORKSPACE}2")]


def test_a_job_in_the_parameter_file_counts_more(deploying: Deploying) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    deploying.before({"databricksJobId": "1", "databricksWorkspaceUrl": WORKSPACE})
    mine = deploying.parameters(databricksJobId="42", databricksWorkspaceUrl=WORKSPACE)
    assert deploying.run("--parameters", mine) == 0, deploying.shown
    assert deploying.mains == [databricks("42")]


def test_so_does_one_that_is_empty_there(deploying: Deploying) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    deploying.before({"databricksJobId": "1", "databricksWorkspaceUrl": WORKSPACE})
    mine = deploying.parameters(databricksJobId="")
    assert deploying.run("--parameters", mine) == 0, deploying.shown
    assert "runner" in deploying.changes()
    assert deploying.mains == [databricks("")]


def test_a_null_in_the_parameter_file_says_nothing(deploying: Deploying) -> None:
    deploying.before({"databricksJobId": "1", "databricksWorkspaceUrl": WORKSPACE})
    mine = deploying.parameters(databricksJobId=None, name=None, pythonVersion=None)
    assert deploying.run("--parameters", mine, "--vendor") == 0, deploying.shown
    assert deploying.mains == [databricks("1")]
    assert not [word for call in deploying.calls for word in call if "None" in word]


def test_a_number_from_another_workspace_is_not_kept(deploying: Deploying) -> None:
    deploying.before({"databricksJobId": "1", "databricksWorkspaceUrl": "https://adb-9.9.net"})
    moved = deploying.parameters(databricksWorkspaceUrl=WORKSPACE)
    assert deploying.run("--parameters", moved) == 0, deploying.shown
    assert deploying.mains == [databricks("")]
    same = deploying.parameters(databricksWorkspaceUrl="https://adb-9.9.net/")
    assert deploying.run("--parameters", same) == 0, deploying.shown
    assert deploying.mains == [databricks("1", "https://adb-9.9.net/")]


def test_a_runner_that_is_always_on_is_started_by_nobody(deploying: Deploying) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    deploying.jobs(ALWAYS_ON)
    assert deploying.run() == 0, deploying.shown
    assert deploying.mains == [databricks("", "")]
    deploying.before({"databricksJobId": "777", "databricksWorkspaceUrl": WORKSPACE})
    assert deploying.run() == 0, deploying.shown
    assert deploying.mains == [databricks("777"), databricks("")]


def test_the_workspace_of_a_profile_is_given_to_the_app_with_its_job(
    deploying: Deploying,
) -> None:
    assert deploying.run("--databricks-target", "prod") == 0, deploying.shown
    assert deploying.mains == [databricks("", ""), databricks("777")]
    deploying.jobs({"runner": {"id": "777"}})
    assert deploying.run("--databricks-target", "prod") == 1
    assert "give databricksWorkspaceUrl" in deploying.shown
    assert deploying.mains == [databricks("", "")]


@pytest.mark.parametrize("options", [["--skip-databricks"], []])
def test_without_a_workspace_or_when_asked_so_the_runner_is_left_alone(
    deploying: Deploying, options: list[str]
) -> None:
    if options:
        deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    assert deploying.run(*options) == 0, deploying.shown
    assert "runner" not in deploying.changes()
    assert "the runner is left alone" in deploying.shown


def test_the_light_environment_is_enough(deploying: Deploying) -> None:
    (deploying.folder / ".venv").rename(deploying.folder / ".venv-deploy")
    assert deploying.run("--parameters", deploying.parameters(operators=ME)) == 0, deploying.shown


@pytest.mark.parametrize("jobs", [JOBS, ALWAYS_ON])
def test_it_lands_a_file_when_an_operator_and_a_runner_are_known(
    deploying: Deploying, jobs: Mapping[str, object]
) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    deploying.jobs(jobs)
    assert deploying.run("--parameters", deploying.parameters(operators=ME)) == 0, deploying.shown
    verify = deploying.call("dev", "openmirror", "azure", "verify")
    assert verify[4:] == ["--resource-group", "rg", "--name", "openmirror"]
    assert ROW in deploying.shown


def test_so_it_does_when_others_deploy_the_runner_and_the_app_knows_its_job(
    deploying: Deploying,
) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    deploying.before({"databricksJobId": "777", "databricksWorkspaceUrl": WORKSPACE})
    mine = deploying.parameters(operators=ME)
    assert deploying.run("--skip-databricks", "--parameters", mine) == 0, deploying.shown
    assert "--no-sample" not in deploying.call("dev", "openmirror", "azure", "verify")
    assert ROW in deploying.shown


@pytest.mark.parametrize("operators", [{}, {"operators": []}, {"operators": None}])
def test_without_an_operator_no_file_is_landed_and_it_says_what_to_add(
    deploying: Deploying, operators: Mapping[str, object]
) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    mine = deploying.parameters(**operators)
    assert deploying.run("--parameters", mine) == 0, deploying.shown
    assert deploying.call("dev", "openmirror", "azure", "verify")[-1] == "--no-sample"
    assert ROW not in deploying.shown
    assert "names no operators" in deploying.shown
    assert '"operators": {"value": [{"principalId": "ID"' in deploying.shown
    assert "no runner is known" not in deploying.shown


@pytest.mark.parametrize(
    ("workspace", "options", "given"),
    [
        ("", [], {}),
        (WORKSPACE, ["--skip-databricks"], {}),
        ("", [], {"databricksJobId": "42"}),
        (WORKSPACE, [], {"databricksJobId": ""}),
    ],
    ids=["no workspace", "nothing deployed yet", "a job of nowhere", "a job that nobody starts"],
)
def test_without_a_runner_that_is_known_no_file_is_landed_and_it_says_what_to_run_later(
    deploying: Deploying, workspace: str, options: list[str], given: Mapping[str, object]
) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=workspace)
    mine = deploying.parameters(name="second", operators=ME, **given)
    assert deploying.run("--parameters", mine, *options, group="my (group)") == 0, deploying.shown
    assert deploying.call("dev", "openmirror", "azure", "verify")[-1] == "--no-sample"
    assert ROW not in deploying.shown
    assert "names no operators" not in deploying.shown
    later = "./dev openmirror azure verify --resource-group 'my (group)' --name second"
    assert f"When a runner is at work:\ndeploy:     {later}\n" in deploying.shown


@pytest.mark.parametrize("options", [["--databricks-target", "prod"], ["--vendor"]])
def test_a_parameter_file_is_found_from_where_the_script_is_called(
    deploying: Deploying, tmp_path: Path, options: list[str]
) -> None:
    deploying.parameters("-mine.json", pythonVersion="3.12")
    assert deploying.run("--parameters", "-mine.json", *options, at=deploying.folder) == 0
    assert deploying.run("--parameters", "b/../-mine.json", *options, at="/") == 2
    (tmp_path / "b").mkdir()
    relative = f"../{deploying.folder.name}/-mine.json"
    assert deploying.run("--parameters", relative, *options, at=tmp_path / "b") == 0
    assert len(deploying.mains) == 1 + ("prod" in options)
    for call in deploying.stacks("main.bicep"):
        assert given_to(call) == {"pythonVersion": {"value": "3.12"}}
    preflight = deploying.call("dev", "openmirror", "azure", "preflight")
    assert value_after(preflight, "--parameters") == f"{tmp_path}/b/{relative}"


def test_what_if_changes_nothing(deploying: Deploying) -> None:
    assert deploying.run("--what-if") == 0, deploying.shown
    assert deploying.changes() == ["preflight", "what-if", "what-if"]
    asked = [call for call in deploying.calls if "what-if" in call]
    assert [_template(call) for call in asked] == ["data.bicep", "main.bicep"]


def test_vendored_packages_are_for_the_apps_python_and_go_where_nothing_is_built(
    deploying: Deploying,
) -> None:
    mine = deploying.parameters(pythonVersion="3.12", name="second")
    assert deploying.run("--parameters", mine, "--vendor") == 0, deploying.shown
    assert deploying.call("dev", "package")[2:] == ["--vendor", "--python", "3.12"]
    # az has Azure build an app in Python whatever --build-remote says.
    assert not [call for call in deploying.calls if call[:2] == ["az", "functionapp"]]
    published = deploying.call("dev", "openmirror", "azure", "publish")
    assert published[4].endswith("/dist/openmirror-functions-1.2.3.zip")
    assert value_after(published, "--name") == "second"
    assert deploying.changes()[-3:] == ["package", "app", "verify"]


def test_a_package_that_is_built_remotely_is_for_the_apps_python_too(deploying: Deploying) -> None:
    mine = deploying.parameters(pythonVersion="3.12")
    assert deploying.run("--parameters", mine) == 0, deploying.shown
    assert deploying.call("dev", "package")[2:] == ["--python", "3.12"]


def test_a_package_that_the_app_does_not_take_without_a_build_is_tried_again(
    deploying: Deploying,
) -> None:
    deploying.answer(["openmirror", "azure", "publish"], code=1, times=1)
    assert deploying.run("--vendor") == 0, deploying.shown
    assert deploying.changes().count("app") == 2


FAILURES = {
    "group": (["az", "group", "show"], [], "az login"),
    "preflight": (["azure", "preflight"], ["preflight"], "remedy"),
    "earlier": (["stack", "group", "list"], ["preflight"], "above"),
    "data": (["create", "openmirror-data"], ["preflight", "data"], "portal"),
    "main": (["stack", "create", "openmirror"], ["preflight", "data", "main"], "portal"),
    "runner": (["bundle", "deploy"], ["preflight", "data", "main", "runner"], "docs/RUNNER.md"),
    "summary": (["bundle", "summary"], ["preflight", "data", "main", "runner"], "above"),
    "package": (
        ["dev", "package"],
        ["preflight", "data", "main", "runner", "main", "package"],
        "checkout",
    ),
    "verify": (
        ["azure", "verify"],
        ["preflight", "data", "main", "runner", "main", "package", "app", "verify"],
        "ten minutes",
    ),
}


@pytest.mark.parametrize("where", FAILURES)
def test_it_stops_at_the_first_failure_and_says_what_was_done_and_how_to_go_on(
    deploying: Deploying, where: str
) -> None:
    words, before, remedy = FAILURES[where]
    deploying.answer(words, code=3)
    assert deploying.run("--databricks-target", "prod") == 1
    assert deploying.changes() == before
    assert "deploy: this failed:" in deploying.shown
    assert remedy in deploying.shown
    assert "run this command again" in deploying.shown
    done = [line for line in deploying.shown.splitlines() if line.startswith("  - ")]
    assert len(done) == sum(step in before[:-1] for step in ("data", "main", "runner", "app")) + (
        # Its second deployment, and a summary that comes after what it is asked about.
        (before.count("main") == 2) + (where == "summary")
    )
    assert ("nothing was changed" in deploying.shown) == ("data" not in before)
    assert ("what it had made until then is there" in deploying.shown) == (where == "data")


def test_an_app_whose_roles_do_not_hold_yet_is_tried_again(deploying: Deploying) -> None:
    deploying.answer(["functionapp", "config-zip"], code=1, times=2)
    assert deploying.run() == 0, deploying.shown
    assert deploying.changes().count("app") == 3
    assert [call for call in deploying.calls if call[0] == "sleep"] == [["sleep", "60"]] * 2


def test_an_app_that_never_takes_its_package_ends_it(deploying: Deploying) -> None:
    deploying.answer(["functionapp", "config-zip"], code=1)
    assert deploying.run() == 1
    assert deploying.changes()[-1] == "app"
    assert "az functionapp log deployment show" in deploying.shown


@pytest.mark.parametrize("group", ["my group", "g'r$(touch x)", 'a"b;c', "-g"])
def test_odd_names_reach_every_program_as_they_are(deploying: Deploying, group: str) -> None:
    odd = deploying.parameters("my $para'meters; x.json", databricksJobId="4 2")
    assert deploying.run("--parameters", odd, group=group) == 0, deploying.shown
    for call in deploying.calls:
        if "--resource-group" in call:
            assert value_after(call, "--resource-group") == group
    preflight = deploying.call("dev", "openmirror", "azure", "preflight")
    assert value_after(preflight, "--parameters") == str(odd)
    (main,) = deploying.stacks("main.bicep")
    assert given_to(main) == {"databricksJobId": {"value": "4 2"}}
    assert "databricksJobId=4 2" in main


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--bogus"], "no option '--bogus'"),
        (["--parameters"], "--parameters needs a value"),
        (["--parameters", "/not/there.json"], "no file '/not/there.json'"),
        (["--databricks-target", "prod", "--skip-databricks"], "exclude each other"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_asked(
    deploying: Deploying, options: list[str], why: str
) -> None:
    assert deploying.run(*options) == 2
    assert why in deploying.shown
    assert not deploying.calls


def test_a_parameter_file_that_is_none_is_named(deploying: Deploying) -> None:
    broken = deploying.folder / "broken.json"
    broken.write_text("{")
    assert deploying.run("--parameters", broken) == 1
    assert "reading the parameter file" in deploying.shown
    assert "data" not in deploying.changes()


def test_help_names_every_option() -> None:
    script = ROOT / "scripts" / "deploy.sh"
    shown = subprocess.run(["sh", script, "--help"], capture_output=True, text=True, check=True)
    for option in ("--resource-group", "--parameters", "--databricks-target", "--vendor"):
        assert option in shown.stdout
    assert "--skip-databricks" in shown.stdout
    assert "--what-if" in shown.stdout
    nothing = subprocess.run(["sh", script], capture_output=True, text=True)
    assert nothing.returncode == 2
    assert "--resource-group is missing" in nothing.stderr


def test_the_documents_give_the_script_only_options_that_its_help_names() -> None:
    script = ROOT / "scripts" / "deploy.sh"
    shown = subprocess.run(["sh", script, "--help"], capture_output=True, text=True, check=True)
    given = [
        word
        for path in sorted((ROOT / "docs").glob("*.md"))
        for simple in shell_blocks(path.read_text())
        if simple.words[0] == "scripts/deploy.sh"
        for word in simple.words
        if word.startswith("--")
    ]
    assert "--resource-group" in given
    for option in given:
        assert f"{option} " in shown.stdout


# --- The stacks -----------------------------------------------------------------------------------


def test_nobody_can_delete_what_holds_data_and_the_stack_itself_deletes_nothing(
    deploying: Deploying,
) -> None:
    assert deploying.run() == 0, deploying.shown
    (data,) = deploying.stacks("data.bicep")
    assert value_after(data, "--action-on-unmanage") == "detachAll"
    assert value_after(data, "--deny-settings-mode") == "denyDelete"
    # Roles and log settings on it belong to the other stack, and must be able to go with that one.
    assert "--deny-settings-apply-to-child-scopes" not in data
    assert value_after(data, "--deny-settings-excluded-actions").split(" ") == [
        "Microsoft.Authorization/roleAssignments/delete",
        "Microsoft.Insights/diagnosticSettings/delete",
    ]


def test_of_all_else_what_the_template_no_longer_has_goes(deploying: Deploying) -> None:
    deploying.outputs(databrickS_WORKSPACE_URL=WORKSPACE)
    assert deploying.run() == 0, deploying.shown
    assert len(deploying.stacks("main.bicep")) == 2
    for main in deploying.stacks("main.bicep"):
        assert value_after(main, "--action-on-unmanage") == "deleteAll"
        assert value_after(main, "--deny-settings-mode") == "none"
        # The app's settings cannot be deleted by themselves, and must not keep the rest.
        assert value_after(main, "--resources-without-delete-support") == "detach"


def test_nobody_is_asked_whether_a_stack_that_is_there_may_be_changed(
    deploying: Deploying,
) -> None:
    assert deploying.run() == 0, deploying.shown
    assert all("--yes" in call for call in deploying.calls if call[:4] == [*CREATE])


def test_each_template_is_given_what_it_takes_of_the_one_file(deploying: Deploying) -> None:
    people = [{"principalId": "33333333-m", "principalType": "User", "mirror": "it's"}]
    mine = deploying.parameters(
        name="second", addressPrefix="10.1.0.0/16", publishers=people, deletedDays=30
    )
    assert deploying.run("--parameters", mine) == 0, deploying.shown
    (data,), (main,) = deploying.stacks("data.bicep"), deploying.stacks("main.bicep")
    assert set(given_to(data)) == {"name", "addressPrefix", "deletedDays"}
    assert set(given_to(main)) == {"name", "publishers", "deletedDays"}
    assert given_to(main)["publishers"] == {"value": people}


@pytest.mark.parametrize("script", ["dev", "scripts/deploy.sh", "scripts/remove.sh", ".ci/run"])
def test_the_scripts_are_clean_to_shellcheck_where_it_is_installed(script: str) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
