"""The Function App: one blueprint a concern. Nothing is built and no setting is read here."""

from __future__ import annotations

import azure.functions as func

from functions import cleanup, landing, poison, start_runner, status, sweep

app = func.FunctionApp()

for concern in (landing, sweep, start_runner, cleanup, poison, status):
    app.register_functions(concern.blueprint)
