"""The real az takes every line that we ask people to run, and the table of its options holds.

`./dev check-infra` makes the venv that this needs; nothing is run, and nobody is asked.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.infra.commands.asking import VENV, Az
from tests.infra.commands.finding import CommandLine, shown_anywhere
from tests.infra.commands.options import Command, Table
from tests.infra.commands.record import TABLE, recorded, text_of

pytestmark = pytest.mark.check_infra

LINES = [shown for shown in shown_anywhere() if shown.program == "az"]
PLANTED = {
    "az has no command": "group creat --name g --location l",
    "unrecognized arguments: --bogus": "group create --name g --location l --bogus 1",
    "required: --location": "group create --name g",
    "are required": "functionapp show --name f",
    "expected one argument": "group create --location l --name",
    "not a valid value": "functionapp deployment source config-zip -g g -n n --src z "
    "--build-remote maybe",
}


@pytest.fixture(scope="module")
def az() -> Az:
    return Az()


_EXPANSION = re.compile(r"\$(?:\w+|\{[^}]*\}|\(…\))")


def filled_in(shown: CommandLine) -> list[str]:
    """The words with something in place of what a shell would put there."""
    table = Table.read("az")
    command = table.commands.get(table.command_of(shown.words) or "", Command(()))
    words: list[str] = []
    for word in shown.words:
        option = command.option(words[-1]) if words else None
        if _EXPANSION.search(word) and option and option.choices:
            words.append(option.choices[0])
        else:
            words.append(_EXPANSION.sub("word", word))
    return words


def test_az_takes_every_line_of_the_documents_and_scripts(az: Az) -> None:
    whole = [shown for shown in LINES if shown.whole and "$@" not in shown.words]
    refusals = az.refusals([filled_in(shown) for shown in whole])
    wrong = [f"{shown}\n  {why}" for shown, why in zip(whole, refusals, strict=True) if why]
    assert not wrong, "\n".join(wrong)
    assert len(whole) > 10


def test_az_has_every_command_that_a_sentence_or_message_mentions(az: Az) -> None:
    mentioned = [shown for shown in LINES if not shown.whole]
    names = az.commands([shown.words for shown in mentioned])
    unknown = [str(shown) for shown, name in zip(mentioned, names, strict=True) if name is None]
    assert mentioned
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("why", PLANTED)
def test_az_refuses_a_planted_mistake(az: Az, why: str) -> None:
    [refusal] = az.refusals([PLANTED[why].split()])
    assert refusal is not None
    assert why in refusal


def test_scripts_get_what_they_ask_of_stacks_by_azs_own_query_language() -> None:
    asked = [shown.words for shown in LINES if shown.words[:3] == ("stack", "group", "list")]
    queries = sorted({words[words.index("--query") + 1] for words in asked if "--query" in words})
    given = {"databricksJobId": {"value": "7"}}
    stacks = [
        {"name": "om", "parameters": given, "resources": [{"id": "/a", "status": "managed"}]},
        {"name": "om-data", "parameters": None, "resources": []},
    ]
    ask = "import jmespath, json, sys; q, on = json.load(sys.stdin); "
    ask += "print(json.dumps([jmespath.search(one, on) for one in q]))"
    done = subprocess.run(
        [VENV / "bin" / "python", "-I", "-c", ask],
        input=json.dumps([queries, stacks]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [
        [{"name": "om", "given": given}, {"name": "om-data", "given": None}],
        [{"name": "om", "resources": ["/a"]}, {"name": "om-data", "resources": []}],
    ]


def test_the_recorded_table_is_what_az_says_now(az: Az) -> None:
    assert TABLE.read_text() == text_of(recorded(az)), "run ./dev check-infra --record"
