"""What an operator asks over HTTP: one verb, and a small JSON object that says about what."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openmirror.errors import (
    AccessDenied,
    DocumentUnreadable,
    Malformed,
    NotThere,
    UnknownName,
    WrongRequest,
)
from openmirror.ingress.dead_letters import requeue
from openmirror.operate import requests
from openmirror.operate.finding import Names, find_mirror, find_table, known_mirrors
from openmirror.operate.requests import Operator
from openmirror.ports.dead_letters import DeadLetters, Requeuer
from openmirror.protocol.names import TableFolder
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.discovery import discover
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.root_ports import RootPorts


class Verb(StrEnum):
    """The verbs of the command line that ask for something."""

    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    SKIP = "skip"
    RESEED = "reseed"
    UNDROP = "undrop"
    CONFIRM_DROPS = "confirm-drops"
    CONFIRM_HARD_DELETES = "confirm-hard-deletes"
    ADOPT = "adopt"


class Ask(BaseModel):
    """What a verb is about; the same words as the command's options."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    table: str | None = None
    """`[mirror/]schema.table`."""
    mirror: str | None = None
    why: str = Field(default="", max_length=2000)
    file: str | None = None
    through: int | str | None = None
    """A sequence, as a number or as text."""
    all: bool = False
    dead_letter: str | None = None
    """The name of a message that was given up."""

    @classmethod
    def parse(cls, body: bytes) -> Ask:
        """Read a request's body; an empty one asks for nothing in particular.

        Raises Malformed naming the first thing that is wrong.
        """
        try:
            return cls.model_validate_json(body.strip() or b"{}")
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise Malformed(f"{where + ': ' if where else ''}{first['msg']}") from None


@dataclass(frozen=True)
class Done:
    """One table for which something was written down."""

    folder: TableFolder
    name: str
    """As an operator would type it."""
    what: str


def verb_of(text: str) -> Verb:
    """The verb of this name; raises UnknownName, saying which there are."""
    try:
        return Verb(text)
    except ValueError:
        raise UnknownName(f"there is no verb {text}. There are: {', '.join(Verb)}") from None


def operate(ports: RootPorts, verb: Verb, ask: Ask, operator: Operator) -> list[Done]:
    """Record what was asked; a runner carries it out when it next reconciles the table.

    Raises Malformed, UnknownName or WrongRequest for what cannot be done, and then nothing was
    written; but `adopt` of all tables leaves alone those that cannot be adopted.
    """
    known = known_mirrors(ports.store)
    mirrors = [find_mirror(ports.store, ask.mirror)] if ask.mirror is not None else known
    for mirror in mirrors:
        with suppress(AccessDenied):  # its tables report it, if one of them is meant
            open_mirror(ports.store, mirror)
    names = Names(ports.store)
    if verb is Verb.CONFIRM_DROPS:
        folders = [f for m in mirrors for f in requests.confirm_drops(ports, m, operator)]
    elif verb is Verb.ADOPT and ask.all:
        folders = [f for m in mirrors for f in _adopt_all(ports, m, operator)]
    elif verb in _OF_MIRRORS and ask.table is None and ask.mirror is not None:
        _OF_MIRRORS[verb](ports, ask.mirror, operator)
        folders = discover(ports.store, ask.mirror)
    else:
        if ask.table is None:
            raise Malformed('table: say which, as "[mirror/]schema.table"')
        folder = find_table(ports.store, mirrors, ask.table)
        _ask_for(ports, verb, folder, ask, operator)
        folders = [folder]
    return [Done(folder, names(folder), _DONE[verb]) for folder in folders]


_OF_MIRRORS = {Verb.PAUSE: requests.hold_mirror, Verb.RESUME: requests.resume_mirror}

_DONE = {
    Verb.PAUSE: "held",
    Verb.RESUME: "resumed",
    Verb.RETRY: "will be tried again",
    Verb.SKIP: "passes over it",
    Verb.RESEED: "will be rebuilt",
    Verb.UNDROP: "will come back, held",
    Verb.CONFIRM_DROPS: "may be dropped",
    Verb.CONFIRM_HARD_DELETES: "will have hard deletes",
    Verb.ADOPT: "will be adopted",
}


def put_back(dead_letters: DeadLetters, requeuer: Requeuer, ask: Ask) -> list[str]:
    """Put dead letters back into their queues: one, or all; returns their names.

    Raises Malformed or UnknownName for what cannot be done, and then nothing was put back.
    """
    if (ask.dead_letter is None) != ask.all:
        raise Malformed('give either dead_letter, as "<source>/<date>/<identity>", or all')
    names = dead_letters.names() if ask.dead_letter is None else [ask.dead_letter]
    for name in names:
        try:
            requeue(dead_letters, requeuer, name)
        except NotThere as error:
            if ask.dead_letter is not None:
                raise UnknownName(f"{error}; the status page lists the newest") from error
    return names


def _ask_for(
    ports: RootPorts, verb: Verb, folder: TableFolder, ask: Ask, operator: Operator
) -> None:
    match verb:
        case Verb.PAUSE:
            requests.hold(ports, folder, operator)
        case Verb.RESUME:
            requests.resume(ports, folder, operator)
        case Verb.RETRY:
            requests.retry(ports, folder, operator)
        case Verb.SKIP:
            _skip(ports, folder, ask, operator)
        case Verb.RESEED:
            requests.reseed(ports, folder, operator, _sequence(ask))
        case Verb.UNDROP:
            requests.undrop(ports, folder, operator)
        case Verb.CONFIRM_HARD_DELETES:
            requests.confirm_hard_deletes(ports, folder, operator)
        case Verb.ADOPT:
            requests.adopt(ports, folder, operator)


def _sequence(ask: Ask) -> Sequence | None:
    if ask.through is None:
        return None
    through = _through(ask)
    if through.partition is not None:
        raise Malformed(f"through: {through} is of one partition; give a number of the ledger")
    return through.last


def _through(ask: Ask) -> Through:
    try:
        return Through.parse(str(ask.through))
    except ValueError as error:
        raise Malformed(f"through: {error}") from error


def _skip(ports: RootPorts, folder: TableFolder, ask: Ask, operator: Operator) -> None:
    if (ask.file is None) == (ask.through is None):
        raise Malformed("give either file or through")
    if not ask.why.strip():
        raise Malformed("why: say why, changes are lost for good")
    if ask.file is not None:
        requests.skip_file(ports, folder, ask.file, operator)
        return
    requests.skip_through(ports, folder, _through(ask), operator)


def _adopt_all(ports: RootPorts, mirror: str, operator: Operator) -> list[TableFolder]:
    adopted = []
    for folder in discover(ports.store, mirror):
        try:
            requests.adopt(ports, folder, operator)
        except (AccessDenied, DocumentUnreadable, WrongRequest):
            continue  # it has no table of a mirror to continue, or none that can be seen
        adopted.append(folder)
    return adopted
