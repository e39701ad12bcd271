"""Rules about what a publisher does after a fault that was injected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from openmirror.conformance.evidence import Evidence
from openmirror.conformance.exchanges import (
    RETRY_AFTER_SECONDS,
    Exchange,
    InjectedFault,
)
from openmirror.conformance.history import Landing, PublisherHistory, Touch
from openmirror.conformance.request_checks import NO_REQUESTS, breach, place_of
from openmirror.conformance.rules import (
    Basis,
    Breach,
    ConformanceRule,
    RuleSeverity,
    Untried,
    rule,
)
from openmirror.ports.landing_events import Inside, location_of
from openmirror.protocol.names import TableFolder

_Found = Iterable[Breach] | Untried
_ERROR, _WARNING = RuleSeverity.ERROR, RuleSeverity.WARNING
_NEARLY = 0.8
"""Of the time that was asked for: clocks of two programs are not one."""


def _faulted(history: PublisherHistory, *faults: InjectedFault) -> list[Exchange]:
    return [exchange for exchange in history.exchanges if exchange.fault in faults]


def _after(history: PublisherHistory, exchange: Exchange) -> list[Landing]:
    """What was published in the same table folder after a request."""
    folder = _folder(exchange)
    return [
        one
        for one in history.landings
        if one.folder == folder and one.exchange.number > exchange.number
    ]


def _folder(exchange: Exchange) -> TableFolder | None:
    where = location_of(exchange.asked.path)
    return where.folder if isinstance(where, Inside) else None


def _place(exchange: Exchange) -> str:
    where = location_of(exchange.asked.path)
    return f"{where.folder}/{where.name}" if isinstance(where, Inside) else exchange.asked.path


def _came_later(history: PublisherHistory, exchange: Exchange) -> bool:
    """Whether what a request would have published came all the same, under whatever number."""
    later = _after(history, exchange)
    if exchange.staged_rows is not None and all(one.exchange.rows_hash for one in later):
        return any(one.exchange.rows_hash == exchange.staged_rows for one in later)
    return any(one.exchange.asked.path == exchange.asked.path for one in later)


def _sends_again(fault: InjectedFault, what: str) -> Callable[[Evidence], _Found]:
    def assess(evidence: Evidence) -> _Found:
        if evidence.history is None or not (faulted := _faulted(evidence.history, fault)):
            return _never_injected(fault)
        return [
            breach(one, f"{what}, and what it would have published never came", _place(one))
            for one in faulted
            if not _came_later(evidence.history, one)
        ]

    return assess


def _never_injected(fault: InjectedFault) -> Untried:
    return Untried(
        f"no such fault was injected ({fault}): `check --serve --faults` injects one at each "
        "further change file"
    )


def _backs_off(evidence: Evidence) -> _Found:
    history = evidence.history
    if history is None or not (busy := _faulted(history, InjectedFault.BUSY)):
        return _never_injected(InjectedFault.BUSY)
    found = []
    for one in busy:
        again = next(
            (
                other
                for other in history.exchanges
                if other.number > one.number
                and (other.asked.deed, other.asked.path) == (one.asked.deed, one.asked.path)
            ),
            None,
        )
        waited = (again.at - one.at).total_seconds() if again is not None else RETRY_AFTER_SECONDS
        if again is not None and waited < _NEARLY * RETRY_AFTER_SECONDS:
            what = f"asked again after {waited:.2f} s; Retry-After was {RETRY_AFTER_SECONDS} s"
            found.append(breach(again, what, _place(one)))
    return found


def _survives_lost_answer(evidence: Evidence) -> _Found:
    history = evidence.history
    if history is None or not (lost := _faulted(history, InjectedFault.LOST)):
        return _never_injected(InjectedFault.LOST)
    found = [one for exchange in lost for one in _after_lost_answer(history, exchange)]
    if found:
        return found
    silent = [one for one in lost if not _after(history, one)]
    if silent and evidence.ended != 0:
        if evidence.ended is None:
            return Untried("nothing was published after the answer that was lost")
        return [breach(one, "the publisher gave up", _place(one)) for one in silent]
    return ()


def _after_lost_answer(history: PublisherHistory, lost: Exchange) -> Iterator[Breach]:
    name = _place(lost)
    own = [one.incarnation for one in history.landings if one.exchange.number == lost.number]
    for one in _after(history, lost):
        same = lost.rows_hash is not None and one.exchange.rows_hash == lost.rows_hash
        if same and one.incarnation in own:
            what = f"the rows of {name} once more: it was there, though its answer was lost"
            yield breach(one.exchange, what, place_of(one))
    for touched in history.touched:
        is_this = f"{touched.folder}/{touched.name}" == name
        if is_this and touched.exchange.number > lost.number and touched.touch is not Touch.CHANGED:
            what = f"{touched.touch}: it was there, though its answer was lost"
            yield breach(touched.exchange, what, name)


def _restarts(history: PublisherHistory) -> list[Exchange]:
    return [one for one in history.exchanges if one.fault is not None and one.fault.is_restart]


_NO_RESTART = Untried(
    "the publisher was not restarted: `check --serve --faults -- COMMAND` kills it and starts it "
    "again"
)
_SILENT = Untried("nothing was published after the restart")


def _goes_on(evidence: Evidence) -> _Found:
    history = evidence.history
    if history is None or not (restarts := _restarts(history)):
        return _NO_RESTART
    first: list[Landing] = []
    for restart in restarts:
        first += _after(history, restart)[:1]
    if not first:
        return _SILENT
    return [
        breach(one.exchange, f"{one.expected or 1} comes next after the restart", place_of(one))
        for one in first
        if one.number is not None and one.number != (one.expected or 1)
    ]


def _repeats_nothing(evidence: Evidence) -> _Found:
    history = evidence.history
    if history is None or not (restarts := _restarts(history)):
        return _NO_RESTART
    first = restarts[0].number
    known = [one for one in history.landings if one.exchange.rows_hash is not None]
    before = {_content(one): one for one in known if one.exchange.number <= first}
    after = [one for one in known if one.exchange.number > first]
    if not after:
        return _SILENT
    return [
        breach(one.exchange, f"the rows of {place_of(same)} once more", place_of(one))
        for one in after
        if (same := before.get(_content(one))) is not None
    ]


def _content(landing: Landing) -> tuple[TableFolder, int, str | None]:
    """What may come once: rows, in one incarnation of a folder."""
    return landing.folder, landing.incarnation, landing.exchange.rows_hash


def _loses_nothing(evidence: Evidence) -> _Found:
    history = evidence.history
    if history is None or not (killed := _faulted(history, InjectedFault.RESTART_BEFORE)):
        return _NO_RESTART
    found = []
    for one in killed:
        if _came_later(history, one):
            continue
        if _after(history, one):
            return Untried(
                f"what {_place(one)} was to hold came in other files, if it came: their rows "
                "cannot be compared file by file"
            )
        found.append(breach(one, "what it was to hold never came", _place(one)))
    return found


def _after_requests(assess: Callable[[Evidence], _Found]) -> Callable[[Evidence], _Found]:
    """Untried for the one reason that all rules about requests have, where there were none."""

    def assess_requests(evidence: Evidence) -> _Found:
        return NO_REQUESTS if evidence.history is None else assess(evidence)

    return assess_requests


def _rule(
    id: str,
    section: str,
    severity: RuleSeverity,
    says: str,
    assess: Callable[[Evidence], _Found],
    remedy: str,
) -> ConformanceRule:
    tried = _after_requests(assess)
    return rule(Basis.FAULTS, id, section, severity, says, tried, remedy)


FAULT_RULES = (
    _rule(
        "retries-503",
        "1",
        _ERROR,
        "After 503 the same is asked again until it is done.",
        _sends_again(InjectedFault.BUSY, "answered by 503"),
        "Retry 500, 502, 503 and 504 with growing pauses.",
    ),
    _rule(
        "backs-off",
        "1",
        _WARNING,
        "Nothing is asked again before Retry-After is over.",
        _backs_off,
        "Wait as long as Retry-After says.",
    ),
    _rule(
        "retries-412",
        "12.2",
        _ERROR,
        "Where a condition failed, the folder is listed again and the file gets its next number.",
        _sends_again(InjectedFault.CONDITION, "answered by 412"),
        "List the folder, take the next number, rename again; never without the condition.",
    ),
    _rule(
        "retries-cut",
        "1",
        _ERROR,
        "After a connection that broke the same is asked again.",
        _sends_again(InjectedFault.CUT, "cut off"),
        "Retry on a new connection.",
    ),
    _rule(
        "survives-lost-answer",
        "1",
        _ERROR,
        "What was done though its answer was lost is not done twice.",
        _survives_lost_answer,
        "After an error of a rename, see whether the number has your file before you go on.",
    ),
    _rule(
        "restart-next-number",
        "12.4",
        _ERROR,
        "After a restart the next number comes next.",
        _goes_on,
        "Find the next number from the newest file of the table folder.",
    ),
    _rule(
        "restart-repeats-nothing",
        "1",
        _ERROR,
        "After a restart nothing is published that was published before.",
        _repeats_nothing,
        "Write down how far you are with the file itself, such as in its footer.",
    ),
    _rule(
        "restart-loses-nothing",
        "1",
        _ERROR,
        "After a restart comes what was not published before it.",
        _loses_nothing,
        "Count as sent only what has its final name.",
    ),
)
