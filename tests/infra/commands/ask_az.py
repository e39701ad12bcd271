"""Asks az itself what it takes; run by the Python that azure-cli is installed for.

`ask_az.py parse` reads lists of words and says of each why az refuses it, or null; `name` says
which command each begins with. `describe` reads names of commands, and says their options.
Nothing is run and nobody is asked: no subscription, no login, no network.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from contextlib import redirect_stderr
from importlib.metadata import version
from typing import Any

from azure.cli.core import AzCli, MainCommandsLoader
from azure.cli.core._help import AzCliHelp
from azure.cli.core.azlogging import AzCliLogging
from azure.cli.core.commands import AzCliCommandInvoker
from azure.cli.core.parser import AzCliCommandParser
from knack import events
from knack.util import CLIError


class Asked:
    """The parser of one command, made in the steps in which az makes it."""

    def __init__(self, words: list[str], settings: str) -> None:
        self._words = words
        self._cli = AzCli(
            cli_name="az",
            config_dir=settings,
            config_env_var_prefix="AZURE",
            commands_loader_cls=MainCommandsLoader,
            invocation_cls=AzCliCommandInvoker,
            parser_cls=AzCliCommandParser,
            logging_cls=AzCliLogging,
            help_cls=AzCliHelp,
        )
        invocation = AzCliCommandInvoker(
            cli_ctx=self._cli,
            parser_cls=AzCliCommandParser,
            commands_loader_cls=MainCommandsLoader,
            help_cls=AzCliHelp,
            initial_data={},
        )
        self._cli.invocation = invocation
        self._loader, self.parser = invocation.commands_loader, invocation.parser
        self._cli.raise_event(events.EVENT_INVOKER_PRE_CMD_TBL_CREATE, args=words)
        self._loader.load_command_table(words)
        table = self._loader.command_table
        # Like az itself: the longest run of words that is a command.
        self.name = next(
            (name for n in range(len(words), 0, -1) if (name := " ".join(words[:n])) in table), None
        )
        if self.name is None:
            raise CLIError(f"az has no command '{' '.join(words[:4])}'")
        self._loader.command_table = {self.name: table[self.name]}
        self._loader.command_name = self.name
        invocation.data["command_string"] = self.name
        self._loader.load_arguments(self.name)
        # The options that a command needs unless --ids is given are only known before this event.
        self.needed = {
            option
            for argument in table[self.name].arguments.values()
            if argument.options.get("required")
            for option in [_longest(argument.options_list)]
        }
        self._cli.raise_event(
            events.EVENT_INVOKER_POST_CMD_TBL_CREATE, commands_loader=self._loader
        )
        self.parser.cli_ctx = self._cli
        self.parser.load_command_table(self._loader)
        self._cli.raise_event(
            events.EVENT_INVOKER_CMD_TBL_LOADED,
            cmd_tbl=self._loader.command_table,
            parser=self.parser,
        )

    def refusal(self) -> str | None:
        """Why az would not run these words; None when it would."""
        printed = io.StringIO()
        try:
            with redirect_stderr(printed):
                parsed = self.parser.parse_args(self._words)
                parsed.cmd = parsed._cmd = parsed.func
                self._cli.raise_event(
                    events.EVENT_INVOKER_POST_PARSE_ARGS, command=parsed.command, args=parsed
                )
        except SystemExit:
            return (printed.getvalue().splitlines() or ["az refuses it without a word"])[0]
        except CLIError as error:
            return str(error)
        return None

    def options(self) -> list[dict[str, Any]]:
        """Every option of the command: its spellings, whether it is needed, how many values."""
        command = self.parser.subparser_map[self.name]
        return [
            {
                "names": sorted(map(str, action.option_strings)),
                "needed": _longest(action.option_strings) in self.needed,
                "values": _values(action),
                **({"choices": sorted(map(str, action.choices))} if action.choices else {}),
            }
            for action in command._actions
            if action.option_strings and action.help != argparse.SUPPRESS
        ]


def _longest(names: Any) -> str:
    return max(map(str, names), key=lambda name: (len(name), name))


def _values(action: Any) -> str:
    return "1" if action.nargs is None else str(action.nargs)


def _parse(words: list[str], settings: str) -> str | None:
    try:
        return Asked(words, settings).refusal()
    except CLIError as error:
        return str(error)


def _name(words: list[str], settings: str) -> str | None:
    try:
        return Asked(words, settings).name
    except CLIError:
        return None


def main() -> None:
    """Read JSON, answer JSON."""
    asked = json.load(sys.stdin)
    answers: Any
    with tempfile.TemporaryDirectory() as settings:
        match sys.argv[1]:
            case "parse":
                answers = [_parse(words, settings) for words in asked]
            case "name":
                answers = [_name(words, settings) for words in asked]
            case "describe":
                answers = {name: Asked(name.split(), settings).options() for name in asked}
            case "version":
                answers = version("azure-cli")
            case other:
                sys.exit(f"ask_az.py does not know {other}")
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
