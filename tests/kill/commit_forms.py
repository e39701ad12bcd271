"""Which commits an engine does, noted as it does them: so no test means another than it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Any
from unittest.mock import patch

from openmirror.spark import committing, engine
from openmirror.spark.choosing import Commit
from openmirror.spark.direct_commits import DirectCommits


class Form(StrEnum):
    """What is noted besides the choices of `choose`."""

    DIRECT = "direct"
    """This process wrote the data file itself."""
    LARGE_INSERTS = "large-inserts"
    """It wrote those of a batch that it did not hold."""
    BEGIN_HISTORY = "begin-history"
    WITHOUT_ROWS = "without-rows"
    """A fence, or an epoch that goes on."""
    FEATURES = "features"
    """Properties and clustering come before their batch, by commits of their own."""
    WIDENING = "widening"
    """So does that types may grow in place."""
    PROPERTIES = "properties"
    """What a replace could not set comes behind it."""
    MERGED_AFTER_ALL = "merged-after-all"
    """Rows that were to be replaced where they lie took a MERGE."""


Forms = list[Commit | Form]


@contextmanager
def noted(note: Callable[[Commit | Form], None]) -> Iterator[None]:
    """Hear of each commit of any engine of this process, where it begins or has been chosen."""

    def chosen(*given: Any) -> Commit:
        how = choose(*given)
        note(how)
        return how

    def directly(*given: Any) -> bool:
        is_direct = commit(*given)
        if is_direct:
            note(Form.DIRECT)
        return is_direct

    def replaced(*given: Any) -> bool:
        is_done = replace_rows(*given)
        if not is_done:
            note(Form.MERGED_AFTER_ALL)
        return is_done

    def once(form: Form, act: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*given: Any) -> Any:
            note(form)
            return act(*given)

        return noting

    choose, replace_rows = engine.choose, engine.replace_rows
    commit = DirectCommits.commit
    with ExitStack() as patches:
        for owner, name, act in (
            (engine, "choose", chosen),
            (engine, "replace_rows", replaced),
            (DirectCommits, "commit", directly),
        ):
            patches.enter_context(patch.object(owner, name, act))
        for owner, name, form in (
            (DirectCommits, "commit_written", Form.LARGE_INSERTS),
            (engine, "begin_history", Form.BEGIN_HISTORY),
            (engine, "set_features", Form.FEATURES),
            (engine, "set_properties", Form.PROPERTIES),
            (committing, "merge_nothing", Form.WITHOUT_ROWS),
            (committing, "enable_widening", Form.WIDENING),
        ):
            act = once(form, getattr(owner, name))
            patches.enter_context(patch.object(owner, name, act))
        yield
