"""Whether the Function App, its functions and its settings are as they were deployed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from openmirror.deployment.rules.findings import Check, Finding, fault, ok
from openmirror.deployment.rules.outputs import Outputs
from openmirror.ports.management import App

FUNCTIONS = frozenset(
    {
        "landing",
        "landing_webhook",
        "sweep",
        "start_runner",
        "cleanup",
        "poison_events",
        "poison_work",
        "dead_letters",
        "status",
        "getMirroringStatus",
        "getTablesMirroringStatus",
        "operate",
        "requeue",
    }
)
"""The functions of function_app.py."""

NEEDED_SETTINGS = (
    "AzureWebJobsStorage__blobServiceUri",
    "AzureWebJobsStorage__queueServiceUri",
    "AzureWebJobsStorage__credential",
    "OPENMIRROR_ROOT",
    "OPENMIRROR_QUEUES__queueServiceUri",
    "OPENMIRROR_QUEUES__credential",
    "OPENMIRROR_DEAD_LETTERS__blobServiceUri",
    "AZURE_CLIENT_ID",
)
_ON = ("1", "true")
JOB, WORKSPACE = "OPENMIRROR_JOB", "DATABRICKS_HOST"


def check_app(group: str, name: str, app: App | None) -> list[Finding]:
    """Whether it runs, with every function."""
    if app is None:
        return [fault(Check.APP, f"the Function App {name} is gone", "Deploy again.")]
    found = []
    if app.state.lower() == "running":
        found.append(ok(Check.APP, f"{name} is running"))
    else:
        found.append(
            fault(
                Check.APP,
                f"{name} is {app.state.lower()}: no event is taken, nothing is swept",
                f"az functionapp start --resource-group {group} --name {name}",
            )
        )
    if off := FUNCTIONS & app.disabled:
        named = ", ".join(map(_switch, sorted(off)))
        found.append(
            fault(
                Check.FUNCTIONS,
                f"{name} has {', '.join(sorted(off))} switched off, by the app's setting {named}",
                "Take the setting away: az functionapp config appsettings delete "
                f"--resource-group {group} --name {name} --setting-names {named.replace(',', '')}",
            )
        )
    if missing := FUNCTIONS - app.functions:
        what = "no function at all" if not app.functions else "no " + ", ".join(sorted(missing))
        found.append(
            fault(
                Check.FUNCTIONS,
                f"{name} has {what}",
                "The package is not there, or could not be indexed: deploy it again, then "
                "read the app's log stream for the reason.",
            )
        )
    elif not off:
        found.append(ok(Check.FUNCTIONS, f"all {len(FUNCTIONS)} are there"))
    return found


def _switch(function: str) -> str:
    """The setting that switches a function off."""
    return f"AzureWebJobs.{function}.Disabled"


def check_settings(
    outputs: Outputs, settings: Mapping[str, str], off: Collection[str] = ()
) -> list[Finding]:
    """Whether the settings name where everything is, and switch nothing off.

    `off` are the functions whose being switched off is a finding already.
    """
    again = "Deploy again: settings that were changed by hand are put back."
    known = {name.lower(): value for name, value in settings.items()}
    missing = [name for name in NEEDED_SETTINGS if not known.get(name.lower())]
    found = []
    if missing:
        found.append(fault(Check.SETTINGS, f"the app has no {', '.join(missing)}", again))
    for name, must in (
        ("OPENMIRROR_ROOT", outputs.openmirror_root),
        ("OPENMIRROR_QUEUES__queueServiceUri", outputs.openmirror_queues),
        ("OPENMIRROR_DEAD_LETTERS__blobServiceUri", outputs.openmirror_dead_letters),
    ):
        value = known.get(name.lower())
        if value and value.rstrip("/") != must.rstrip("/"):
            what = f"{name} is {value}, but the deployment made {must}"
            found.append(fault(Check.SETTINGS, what, again))
    switches = {_switch(one) for one in FUNCTIONS.difference(off)}
    for switch in sorted(one for one in switches if known.get(one.lower(), "").lower() in _ON):
        found.append(fault(Check.SETTINGS, f"{switch} is set: that function does not run", again))
    if bool(known.get(JOB.lower())) != bool(known.get(WORKSPACE.lower())):
        what = f"{JOB} and {WORKSPACE} go together, and only one of them is set"
        found.append(fault(Check.SETTINGS, what, again))
    return found or [ok(Check.SETTINGS, "all are there")]
