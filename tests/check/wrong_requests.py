"""Mistakes that only requests show, each with the rules that it breaks and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from openmirror.conformance.exchanges import Deed, InjectedFault
from tests.check.script import ZONE, Script
from tests.harness.publishing import file_name


@dataclass(frozen=True)
class WrongRequests:
    """A mistake, how it is made, and what it breaks."""

    name: str
    make: Callable[[Script], None]
    breaks: frozenset[str] = field(default_factory=frozenset)
    ended: int | None = 0


CASES: list[WrongRequests] = []


def breaks(
    *rules: str, ended: int | None = 0
) -> Callable[[Callable[[Script], None]], Callable[[Script], None]]:
    def planted(make: Callable[[Script], None]) -> Callable[[Script], None]:
        CASES.append(WrongRequests(make.__name__, make, frozenset(rules), ended))
        return make

    return planted


def begin(script: Script) -> None:
    script.folder()
    script.metadata()


def second_file_meets(script: Script, fault: InjectedFault) -> None:
    begin(script)
    script.land(1, rows="a")
    script.faulted(script.land(2, rows="b"), fault)


def right(script: Script) -> None:
    """A publisher that does everything as it should, whatever happens to it."""
    begin(script)
    script.land(1, rows="a")
    script.ask(Deed.LIST, script.table)
    script.faulted(script.land(2, rows="b"), InjectedFault.BUSY)
    script.rename(script.path(f"_{file_name(2)}"), file_name(2), rows="b", new_only=True)
    lost = script.land(3, rows="c")
    script.faulted(lost, InjectedFault.LOST)
    script.ask(Deed.READ, file_name(3))
    script.faulted(script.land(4, rows="d"), InjectedFault.CONDITION)
    script.ask(Deed.LIST, script.table)
    script.rename(script.path(f"_{file_name(4)}"), file_name(4), rows="d", new_only=True)
    script.faulted(script.land(5, rows="e"), InjectedFault.CUT)
    script.rename(script.path(f"_{file_name(5)}"), file_name(5), rows="e", new_only=True)
    script.faulted(script.land(6, rows="f"), InjectedFault.RESTART_AFTER)
    script.ask(Deed.LIST, script.table)
    script.faulted(script.land(7, rows="g"), InjectedFault.RESTART_BEFORE)
    script.ask(Deed.LIST, script.table)
    script.rename(script.path(f"_{file_name(7)}"), file_name(7), rows="g", new_only=True)
    script.ask(Deed.READ, "landing/check/Files/Monitoring/tables.json")
    script.metadata(keyColumns=["ID"])
    script.drop()
    begin(script)
    script.land(1, rows="a")
    text = Script("Text")
    text.exchanges, text.seconds = script.exchanges, script.seconds
    text.folder()
    text.metadata(keyColumns=["id"], FileFormat="CSV")
    text.land(file_name(1, "csv"))
    text.ask(Deed.PUT, file_name(2, "csv"), size=10, new_only=True)


@breaks("stays-in-zone")
def makes_the_landing_zone_itself(script: Script) -> None:
    script.ask(Deed.MAKE_FOLDER, ZONE)
    begin(script)
    script.land(1)


@breaks("stays-in-zone")
def stages_outside_of_the_zone(script: Script) -> None:
    begin(script)
    staged = script.stage("landing/check/Files/_tmp/1.parquet")
    script.rename(staged, file_name(1), new_only=True)


@breaks("stays-in-zone")
def makes_the_container(script: Script) -> None:
    script.ask(Deed.MAKE_FOLDER, "landing", status=409, done=False)
    begin(script)
    script.land(1)


@breaks("reserved-left-alone")
def writes_status_files(script: Script) -> None:
    begin(script)
    script.land(1)
    script.ask(Deed.PUT, "landing/check/Files/Monitoring/tables.json", size=2)


@breaks("reserved-left-alone", "never-deleted")
def archives_its_own_files(script: Script) -> None:
    begin(script)
    script.land(1)
    script.land(2)
    script.rename(script.path(file_name(1)), f"_ProcessedFiles/{file_name(1)}")


@breaks("appears-whole", "new-names-only")
def writes_parquet_under_its_final_name(script: Script) -> None:
    begin(script)
    script.stage(file_name(1))


@breaks("text-appears-whole", "new-names-only")
def writes_text_under_its_final_name(script: Script) -> None:
    script.folder()
    script.metadata(FileFormat="CSV")
    script.stage(file_name(1, "csv"))


@breaks("appears-whole", "new-names-only", "flush-closes")
def flushes_without_closing(script: Script) -> None:
    begin(script)
    script.ask(Deed.MAKE_FILE, file_name(1))
    script.ask(Deed.APPEND, file_name(1), size=100, flushes=True)


@breaks("new-names-only")
def renames_over_whatever_is_there(script: Script) -> None:
    begin(script)
    script.land(1, new_only=False)


@breaks("never-grows", "appears-whole", "new-names-only")
def appends_to_a_file_that_is_there(script: Script) -> None:
    begin(script)
    script.stage(file_name(1))
    script.ask(Deed.APPEND, file_name(1), position=100, size=50)
    script.ask(Deed.FLUSH, file_name(1), position=150, closes=True)


@breaks("never-overwritten", "new-names-only")
def puts_a_file_twice(script: Script) -> None:
    begin(script)
    script.land(1)
    script.ask(Deed.PUT, file_name(1), size=100)


@breaks("never-overwritten", "new-names-only")
def two_writers_take_one_number(script: Script) -> None:
    begin(script)
    first, second = script.stage("_a.parquet"), script.stage("_b.parquet")
    script.rename(first, file_name(1), new_only=True)
    script.rename(second, file_name(1))


@breaks("never-touched")
def sets_properties_of_a_published_file(script: Script) -> None:
    begin(script)
    script.land(1)
    script.ask(Deed.CHANGE, file_name(1))


@breaks("never-deleted")
def deletes_what_it_published(script: Script) -> None:
    begin(script)
    script.land(1)
    script.land(2)
    script.ask(Deed.DELETE, file_name(1))


@breaks("number-never-again", "never-deleted")
def empties_the_folder_and_counts_from_1_again(script: Script) -> None:
    begin(script)
    script.land(1)
    script.ask(Deed.DELETE, file_name(1))
    script.land(1)


@breaks("next-number")
def skips_a_number(script: Script) -> None:
    begin(script)
    script.land(1)
    script.land(3)


@breaks("next-number")
def skips_a_number_in_a_folder_that_was_there(script: Script) -> None:
    script.before = [script.path("_metadata.json"), script.path(file_name(7))]
    script.land(9)


@breaks("anew-from-1")
def counts_from_0_and_so_begins_with_2(script: Script) -> None:
    begin(script)
    script.land(2)


@breaks("anew-from-1")
def goes_on_counting_in_a_folder_that_was_made_anew(script: Script) -> None:
    begin(script)
    script.land(1)
    script.drop()
    begin(script)
    script.land(2)


@breaks("metadata-first")
def writes_metadata_after_the_first_file(script: Script) -> None:
    script.folder()
    script.land(1)
    script.metadata()


@breaks("metadata-first")
def leaves_metadata_empty_until_after_the_first_file(script: Script) -> None:
    script.folder()
    script.ask(Deed.MAKE_FILE, "_metadata.json")
    script.land(1)
    body = b'{"keyColumns": ["id"]}'
    script.ask(Deed.APPEND, "_metadata.json", body=body, size=len(body))
    script.ask(Deed.FLUSH, "_metadata.json", position=len(body), closes=True)


@breaks("metadata-first")
def forgets_metadata_in_a_folder_that_was_made_anew(script: Script) -> None:
    begin(script)
    script.land(1)
    script.drop()
    script.folder()
    script.land(1)


@breaks("keys-kept")
def changes_the_keys(script: Script) -> None:
    begin(script)
    script.land(1)
    script.metadata(keyColumns=["id", "line"])


@breaks("options-kept")
def changes_an_option(script: Script) -> None:
    begin(script)
    script.land(1)
    script.metadata(keyColumns=["id"], isUpsertDefaultRowMarker=True)


@breaks("lists-one-level")
def lists_into_the_archive(script: Script) -> None:
    begin(script)
    script.ask(Deed.LIST, script.table, recursive=True)
    script.land(1)


@breaks("leaves-nothing-staged")
def forgets_what_it_staged(script: Script) -> None:
    begin(script)
    script.land(1)
    script.stage("_scratchPad/batch.parquet")


@breaks("retries-503", "leaves-nothing-staged", ended=1)
def ends_with_an_error_after_503(script: Script) -> None:
    second_file_meets(script, InjectedFault.BUSY)


@breaks("retries-503")
def goes_on_with_the_next_batch_after_503(script: Script) -> None:
    second_file_meets(script, InjectedFault.BUSY)
    script.land(2, rows="c")


@breaks("backs-off")
def asks_again_at_once_after_503(script: Script) -> None:
    second_file_meets(script, InjectedFault.BUSY)
    staged = script.path(f"_{file_name(2)}")
    script.rename(staged, file_name(2), new_only=True, wait=0.05)


@breaks("retries-412", "leaves-nothing-staged")
def takes_412_for_success(script: Script) -> None:
    second_file_meets(script, InjectedFault.CONDITION)


@breaks("new-names-only")
def leaves_the_condition_out_after_412(script: Script) -> None:
    second_file_meets(script, InjectedFault.CONDITION)
    script.rename(script.path(f"_{file_name(2)}"), file_name(2))


@breaks("retries-cut", "leaves-nothing-staged", ended=1)
def ends_when_the_connection_breaks(script: Script) -> None:
    second_file_meets(script, InjectedFault.CUT)


@breaks("survives-lost-answer")
def publishes_once_more_what_was_lost_to_hear_of(script: Script) -> None:
    second_file_meets(script, InjectedFault.LOST)
    script.land(3, rows="b")


@breaks("survives-lost-answer", "never-deleted", "number-never-again")
def deletes_what_was_lost_to_hear_of(script: Script) -> None:
    second_file_meets(script, InjectedFault.LOST)
    script.ask(Deed.DELETE, file_name(2))
    script.land(2, rows="c")


@breaks("survives-lost-answer", ended=1)
def gives_up_when_an_answer_is_lost(script: Script) -> None:
    second_file_meets(script, InjectedFault.LOST)


@breaks("restart-next-number", "never-overwritten", "restart-repeats-nothing", "new-names-only")
def begins_from_1_after_a_restart(script: Script) -> None:
    second_file_meets(script, InjectedFault.RESTART_AFTER)
    script.land(1, rows="a", new_only=False)


@breaks("restart-next-number", "next-number")
def skips_a_number_after_a_restart(script: Script) -> None:
    second_file_meets(script, InjectedFault.RESTART_AFTER)
    script.land(4, rows="c")


@breaks("restart-repeats-nothing")
def publishes_everything_once_more_after_a_restart(script: Script) -> None:
    second_file_meets(script, InjectedFault.RESTART_AFTER)
    script.land(3, rows="a")
    script.land(4, rows="b")


@breaks("restart-loses-nothing", "leaves-nothing-staged")
def forgets_what_it_was_about_to_publish(script: Script) -> None:
    second_file_meets(script, InjectedFault.RESTART_BEFORE)
