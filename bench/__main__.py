"""`python -m bench`: openmirror beside other ways, and what parts of it cost."""

from __future__ import annotations

import typer

from bench.cdc.measured import cdc
from bench.decoding import decoding
from bench.event_filter import event_filter
from bench.long_log import long_log
from bench.matrix import bench
from bench.publishing import publishing
from bench.serving import serving
from bench.snapshots import snapshot
from bench.soak.command import soak
from bench.text import text
from bench.version_columns import versioned

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.callback(invoke_without_command=True)(bench)
app.command()(event_filter)
app.command()(decoding)
app.command()(cdc)
app.command()(serving)
app.command()(versioned)
app.command()(publishing)
app.command()(snapshot)
app.command()(text)
app.command()(soak)
app.command()(long_log)

if __name__ == "__main__":
    app(prog_name="python -m bench")
