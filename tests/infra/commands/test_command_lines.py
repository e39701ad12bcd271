"""Every az, azd and databricks line in docs, scripts and messages is one that the program takes.

Checked against tables: az's is written down from the real program, which `./dev check-infra` holds
it to; those of azd and databricks come from their own documents.
"""

from __future__ import annotations

import json

import pytest

from tests.infra.commands.finding import (
    PROGRAMS,
    ROOT,
    CommandLine,
    shown_anywhere,
    shown_in_document,
    shown_in_messages,
    shown_in_script,
)
from tests.infra.commands.options import Table, mistakes
from tests.infra.commands.shell import simple_commands

TABLES = {program: Table.read(program) for program in PROGRAMS}
EVERY = shown_anywhere()


def wrong(line: str) -> list[str]:
    """What is wrong with a line in a document."""
    [shown] = shown_in_document(f"```sh\n{line}\n```\n", "page.md")
    return list(mistakes(shown, TABLES[shown.program]))


@pytest.mark.parametrize("shown", EVERY, ids=str)
def test_the_program_takes_this_line(shown: CommandLine) -> None:
    assert not list(mistakes(shown, TABLES[shown.program]))


def test_the_documents_scripts_and_messages_are_read() -> None:
    places = {shown.place.partition(":")[0] for shown in EVERY}
    assert {"docs/DEPLOY.md", "scripts/deploy.sh"} <= places
    assert any(place.startswith("openmirror/deployment/") for place in places)
    assert {shown.program for shown in EVERY} == set(PROGRAMS)


def test_no_line_of_the_documents_blocks_is_passed_over() -> None:
    """Counted with a plain search, which knows nothing of how shells read."""
    text = (ROOT / "docs" / "DEPLOY.md").read_text()
    fences = [n for n, line in enumerate(text.splitlines(), 1) if line.strip().startswith("```")]
    within = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip().startswith(tuple(f"{program} " for program in PROGRAMS))
        and sum(fence < number for fence in fences) % 2
    }
    read = {int(shown.place.rpartition(":")[2]) for shown in EVERY if "DEPLOY" in shown.place}
    assert within
    assert within <= read


def test_no_line_asks_for_an_output_by_its_name() -> None:
    """Azure spells the first letters of FUNCTION_APP small, and az then finds nothing, silently."""
    named = [str(shown) for shown in EVERY if "properties.outputs." in " ".join(shown.words)]
    assert not named


def test_the_table_of_az_holds_what_is_used_and_nothing_else() -> None:
    used = {TABLES["az"].command_of(shown.words) for shown in EVERY if shown.program == "az"}
    # A mention of a group of commands is none of them.
    assert used - {None} == set(TABLES["az"].commands)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_table_says_where_it_is_from(program: str) -> None:
    content = json.loads((ROOT / "tests" / "infra" / f"{program}_options.json").read_text())
    assert {"az": "azure-cli 2.", "azd": "azure-dev", "databricks": "databricks/cli"}[
        program
    ] in content["source"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("az group creat --name g --location l", "no command of az"),
        ("az grup create --name g --location l", "no command of az"),
        ("az group create --name g --location l --bogus 1", "no option --bogus"),
        ("az group create --name g", "needs --location"),
        ("az group create --name --location l", "--name needs a value"),
        ("az group create g --name g --location l", "does not take these 1 words"),
        (
            "az functionapp deployment source config-zip -g g -n n --src z --build-remote maybe",
            "takes false, true; not maybe",
        ),
        ("azd upp", "no command of azd"),
        ("azd up --yes", "no option --yes"),
        ("azd env get-value", "does not take these 0 words"),
        ("databricks bundle deply", "no command of databricks"),
        ("databricks bundle deploy --targt prod", "no option --targt"),
        ("databricks bundle deploy --target", "--target needs a value"),
        ("databricks external-locations create one", "does not take these 1 words"),
    ],
)
def test_a_planted_mistake_is_found_with_its_place(line: str, why: str) -> None:
    [found] = wrong(line)
    assert found.startswith("page.md:2: ")
    assert why in found


@pytest.mark.parametrize(
    "line",
    [
        "az group create -n g -l l --tags a=b c=d --query id -o tsv",
        "az group create --name=g --location=l",
        "az functionapp deployment source config-zip -g g -n n --src z --build-remote",
        "az functionapp deployment source config-zip -g g -n n --src z --build-remote $remote",
        "azd env set A=1 B=2",
        "databricks bundle deploy -t prod --var a=b",
    ],
)
def test_a_right_line_is_right(line: str) -> None:
    assert not wrong(line)


def test_a_mention_in_a_sentence_may_leave_out_what_is_needed_and_nothing_else() -> None:
    text = "\nRun `az group create --name g`.\nNot `az group create --bogus`, nor `az grup show`.\n"
    found = list(shown_in_document(text, "page.md"))
    assert [shown.place for shown in found] == ["page.md:2", "page.md:3", "page.md:3"]
    assert [len(list(mistakes(shown, TABLES["az"]))) for shown in found] == [0, 1, 1]


def test_what_a_message_reports_people_to_run_is_found() -> None:
    source = '''
"""Not this: az docstring only."""
raise Wrong(
    f"no provider. Run `az provider register --namespace {name}`, "
    "or az group create --name g (as an owner)."
)
'''
    found = list(shown_in_messages(source, "module.py"))
    assert [shown.words for shown in found] == [
        ("provider", "register", "--namespace", "…"),
        ("group", "create", "--name", "g"),
    ]


def test_shell_text_is_read_as_a_shell_reads_it() -> None:
    text = (
        'if ! id=$(az group show --name "my $g" \\\n  --query id); then # az comment\n'
        "  step 'two words' az group create --name 'a b' >/dev/null 2>&1 || say 'see above'\n"
        "fi\ncat <<END >file\naz not a command\nEND\naz version | tr a b; A=1 az login&\n"
    )
    read = [(simple.line, simple.words) for simple in simple_commands(text)]
    assert (1, ("az", "group", "show", "--name", "my $g", "--query", "id")) in read
    assert (3, ("step", "two words", "az", "group", "create", "--name", "a b")) in read
    assert (8, ("az", "version")) in read
    assert (8, ("A=1", "az", "login")) in read
    assert not [words for _, words in read if words[:2] == ("az", "not")]
    assert [shown.words for shown in shown_in_script(text, "x.sh")] == [
        ("group", "show", "--name", "my $g", "--query", "id"),
        ("group", "create", "--name", "a b"),
        ("version",),
        ("login",),
    ]


def test_only_what_a_person_types_in_a_session_is_read() -> None:
    session = "$ az version\naz is not typed here\n$ az group create --name g \\\n>   -l l\n"
    text = f"```console\n{session}```\n"
    found = list(shown_in_document(text, "page.md"))
    assert [shown.words for shown in found] == [
        ("version",),
        ("group", "create", "--name", "g", "-l", "l"),
    ]
