"""After a deployment: a healthy one is found so, and each planted fault is named."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.identity import CredentialUnavailableError
from azure.storage.blob import BlobServiceClient
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.deployment.rules.findings import Check, Verdict
from openmirror.deployment.rules.function_app import FUNCTIONS, NEEDED_SETTINGS
from openmirror.deployment.rules.outputs import Outputs
from openmirror.deployment.rules.roles import GRANTS, Grant, Role, Who
from openmirror.deployment.rules.sample import FOLDER, MIRROR
from openmirror.deployment.sample_row import ParquetSampleRow
from openmirror.errors import Unavailable
from openmirror.operate.requests import Operator, hold
from openmirror.ports.landing_events import LANDING_SUBJECT, REPORTED_AS
from openmirror.ports.work_items import EVENTS_QUEUE, WORK_QUEUE
from openmirror.protocol.names import TableFolder, TableName, TablePath
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.wiring import deployment
from openmirror.wiring.deployment import Management, workspace
from tests.deployment.azure import NAME, bicep, clients, guid, plain
from tests.deployment.place import DEAD_LETTERS, Place, shown
from tests.harness.publishing import land
from tests.infra.bicep.expansion import GROUP
from tests.infra.sample_deployment import ROLE_ASSIGNMENT

ORDERS = TableFolder("sales", TablePath("", "orders"))


def test_a_healthy_deployment_is_all_ok(place: Place) -> None:
    land(place.ports.store, ORDERS, 1, 2)
    place.swept()
    place.queues.get_queue_client(WORK_QUEUE).clear_messages()
    found = place.found("--no-sample")
    assert {check: verdicts for check, verdicts in shown(found).items() if verdicts != ["ok"]} == {}
    before = {*Check} - {Check.SAMPLE}
    assert set(shown(found)) == {
        one for one in before if list(Check).index(one) >= list(Check).index(Check.DEPLOYMENT)
    }


def test_nothing_is_changed_without_the_sample(place: Place) -> None:
    place.found("--no-sample")
    assert place.azure.asked
    changing = [one for one in place.azure.asked if not one.startswith("GET ")]
    assert {one.rpartition("/")[2] for one in changing} == {"list"}
    assert not place.server.events


def test_each_finding_is_printed_as_soon_as_it_is_known_and_shown_in_the_end(place: Place) -> None:
    place.azure.app_state = "Stopped"
    shown = place.verify("--no-sample")
    assert shown.exit_code == 1
    assert "fault   app: func-openmirror-" in shown.stderr
    assert shown.stderr.index("ok      deployment") < shown.stderr.index("ok      tables")
    assert "az functionapp start" in shown.stdout


# --- Azure's side ---------------------------------------------------------------------------------


def test_every_missing_role_is_named_with_whose_it_is_and_where(place: Place) -> None:
    azure, whole = place.azure, list(place.azure.assignments)
    for grant in GRANTS:
        azure.assignments = [one for one in whole if not _is(place, grant, one["properties"])]
        assert len(azure.assignments) == len(whole) - 1
        (bad,) = place.only_roles()
        assert (bad.check, bad.verdict) == (Check.ROLES, Verdict.FAULT)
        assert bad.what == f"{grant.who} lacks {grant}"
    bad = place.bad()
    assert "Deploy again" in bad["remedy"]
    assert "ten minutes" in bad["remedy"]


def _is(place: Place, grant: Grant, assignment: dict[str, Any]) -> bool:
    return (
        assignment["principalId"] == place.principal(grant.who)
        and assignment["roleDefinitionId"].endswith(grant.role)
        and assignment["scope"].endswith(
            f"/{grant.place.name or assignment['scope'].rpartition('/')[2]}"
        )
        and (bool(grant.place.name) or "/default/" not in assignment["scope"])
    )


def test_the_roles_that_are_checked_are_those_that_the_bicep_files_give() -> None:
    made = bicep()
    outputs = Outputs.read({name: str(plain(value)) for name, value in made.outputs.items()})
    assert isinstance(outputs, Outputs)
    (topic,) = made.of("Microsoft.EventGrid/systemTopics")
    ours = {
        outputs.functions_principal_id: Who.FUNCTIONS,
        outputs.runner_principal_id: Who.RUNNER,
    }
    given = set()
    for one in made.of(ROLE_ASSIGNMENT):
        principal = str(one.properties["principalId"])
        who = Who.TOPIC if principal.startswith(f"{topic.id}:") else ours.get(guid(principal))
        if who is not None:
            role = Role(str(one.properties["roleDefinitionId"]).rpartition("/")[2])
            given.add((who, role, one.scope, bool(one.properties.get("condition"))))
    searched = {
        (g.who, g.role, f"{GROUP}/providers/{g.place.scope(outputs)}", g.conditioned)
        for g in GRANTS
    }
    assert searched == given


def test_a_role_that_lost_its_condition_is_reported_and_one_that_got_one_too(place: Place) -> None:
    conditioned = [
        one
        for one in place.azure.assignments
        if one["properties"].get("condition")
        and one["properties"]["scope"].endswith("/containers/lake")
    ]
    (control,) = conditioned
    del control["properties"]["condition"]
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("roles", "warning")
    assert "without the condition that narrows it" in bad["what"]
    for one in place.azure.assignments:
        if one["properties"]["scope"].endswith("/queues/landing-events"):
            one["properties"]["condition"] = "…"
    bad = [one for one in place.found("--no-sample") if one["verdict"] == "fault"]
    assert bad
    assert all("under a condition only" in one["what"] for one in bad)


def test_a_stopped_function_app_is_named_with_the_command_that_starts_it(place: Place) -> None:
    place.azure.app_state = "Stopped"
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("app", "fault")
    assert "is stopped" in bad["what"]
    assert bad["remedy"].startswith(f"az functionapp start --resource-group {NAME} --name func-")


def test_a_function_that_is_not_there_is_named(place: Place) -> None:
    place.azure.functions -= {"sweep", "landing"}
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("functions", "fault")
    assert "has no landing, sweep" in bad["what"]
    place.azure.functions = set()
    assert "has no function at all" in place.bad()["what"]


def test_a_function_that_is_switched_off_is_named_with_its_setting(place: Place) -> None:
    setting = "AzureWebJobs.sweep.Disabled"
    place.azure.settings[setting] = "1"
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("settings", "fault")
    assert bad["what"] == f"{setting} is set: that function does not run"
    place.azure.disabled = {"sweep"}
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("functions", "fault")
    assert f"has sweep switched off, by the app's setting {setting}" in bad["what"]
    assert bad["remedy"].endswith(f"--setting-names {setting}")


def test_the_functions_that_are_checked_are_those_of_the_app() -> None:
    from function_app import app

    assert {one.get_function_name() for one in app.get_functions()} == FUNCTIONS


def test_the_settings_that_are_checked_are_among_those_that_the_bicep_files_give() -> None:
    (config,) = bicep().of("Microsoft.Web/sites/config")
    assert set(NEEDED_SETTINGS) <= set(config.properties)


def test_a_setting_that_is_missing_or_leads_elsewhere_is_named(place: Place) -> None:
    del place.azure.settings["AZURE_CLIENT_ID"]
    assert place.bad()["what"] == "the app has no AZURE_CLIENT_ID"
    place.azure.settings["AZURE_CLIENT_ID"] = "x"
    place.azure.settings["OPENMIRROR_ROOT"] = "https://other.dfs.core.windows.net"
    assert "OPENMIRROR_ROOT is https://other" in place.bad()["what"]


def test_a_lost_event_subscription_is_named(place: Place) -> None:
    place.azure.subscriptions.clear()
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("events", "fault")
    assert "the event subscription landing-events of egst-openmirror-" in bad["what"]
    assert bad["what"].endswith("is gone")
    assert "only the sweep finds files" in bad["remedy"]


@pytest.mark.parametrize(
    ("planted", "says"),
    [
        ({"provisioningState": "Failed"}, "is Failed"),
        ({"queueName": "table-work"}, "leads to"),
        ({"includedEventTypes": [*REPORTED_AS][1:]}, "lets no BlobCreated through"),
        ({"includedEventTypes": [*REPORTED_AS][:-1]}, "lets no DirectoryDeleted through"),
        (
            {"subjectBeginsWith": f"{LANDING_SUBJECT}sales/"},
            "delivers only events of /blobServices/default",
        ),
    ],
)
def test_an_event_subscription_that_does_not_deliver_is_named(
    place: Place, planted: dict[str, Any], says: str
) -> None:
    (subscription,) = place.azure.subscriptions.values()
    properties = subscription["properties"]
    queue = properties["deliveryWithResourceIdentity"]["destination"]["properties"]
    for name, value in planted.items():
        filtered = dict.fromkeys(("includedEventTypes", "subjectBeginsWith"), properties["filter"])
        part = {"queueName": queue, **filtered}.get(name, properties)
        part[name] = value
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("events", "fault")
    assert says in bad["what"]


def test_an_event_subscription_without_a_filter_reports_enough_and_too_much(place: Place) -> None:
    (subscription,) = place.azure.subscriptions.values()
    subscription["properties"]["filter"] = {}
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("events", "warning")
    assert "delivers events of more than the landing zones" in bad["what"]


@pytest.mark.parametrize(
    ("state", "says"), [("Failed", "the deployment failed"), ("Running", "is still running")]
)
def test_a_deployment_that_did_not_succeed_is_reported(place: Place, state: str, says: str) -> None:
    place.azure.deployments[0]["properties"]["provisioningState"] = state
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("deployment", "fault")
    assert says in bad["what"]


def test_without_a_deployment_nothing_else_is_checked(place: Place) -> None:
    place.azure.deployments.clear()
    (only,) = place.found()
    assert (only["check"], only["verdict"]) == ("deployment", "fault")
    assert "remembers no deployment 'openmirror'" in only["what"]


def test_the_deployment_that_azd_made_is_found_under_its_own_name(place: Place) -> None:
    place.azure.deployments[0]["name"] = "sales"
    place.azure.deployments.append(place.azure.remembered("unrelated", bicep()))
    place.azure.deployments[1]["properties"]["outputs"] = {}
    assert {one["verdict"] for one in place.found("--no-sample")} == {"ok"}


def test_a_stack_is_found_by_its_outputs_and_a_failed_one_by_its_name(place: Place) -> None:
    made = place.azure.deployments.pop()
    stack = place.azure.stack("openmirror", bicep())
    stack["properties"]["outputs"] = made["properties"]["outputs"]
    data = place.azure.stack("openmirror-data", bicep(), "failed")
    data["properties"]["outputs"] = {}
    place.azure.stacks += [stack, data]
    assert shown(place.found("--no-sample"))["deployment"] == ["ok"]
    stack["properties"] |= {"provisioningState": "failed", "outputs": None}
    (only,) = place.found("--no-sample")
    assert (only["check"], only["verdict"]) == ("deployment", "fault")
    assert "the deployment failed" in only["what"]


def test_of_two_deployments_in_a_group_each_is_checked_by_its_name(place: Place) -> None:
    second = place.azure.remembered("second", bicep(name="second"), "Failed")
    second["properties"]["outputs"] = {}
    place.azure.deployments.append(second)
    (bad,) = (
        one
        for one in place.found("--no-sample", "--name", "second")
        if one["check"] == "deployment"
    )
    assert "the deployment failed" in bad["what"]
    assert {one["verdict"] for one in place.found("--no-sample", "--name", "openmirror")} == {"ok"}
    (only,) = place.found("--no-sample", "--name", "third")
    assert "remembers no deployment 'third'" in only["what"]


def test_a_deployment_that_is_called_so_and_is_another_ones_is_not_taken(place: Place) -> None:
    place.azure.deployments[0]["name"] = "second"
    (only,) = place.found("--no-sample", "--name", "second")
    assert (only["check"], only["verdict"]) == ("deployment", "fault")
    assert "remembers no deployment 'second'" in only["what"]
    assert {one["verdict"] for one in place.found("--no-sample", "--name", "openmirror")} == {"ok"}


def test_of_two_deployments_one_has_to_be_named(place: Place) -> None:
    place.azure.deployments.append(place.azure.remembered("second", bicep(name="second")))
    (only,) = place.found("--no-sample")
    assert (only["check"], only["verdict"]) == ("deployment", "fault")
    assert "remembers the deployments openmirror, second: say which, --name" in only["what"]


def test_the_newest_deployment_counts_whatever_it_is_called(place: Place) -> None:
    newest = place.azure.remembered("by-azd", bicep(), "Failed")
    newest["properties"]["outputs"] = place.azure.deployments[0]["properties"]["outputs"]
    place.azure.deployments.append(newest)
    bad = next(one for one in place.found("--no-sample") if one["check"] == "deployment")
    assert "the deployment failed" in bad["what"]


@pytest.mark.parametrize("verb", ["verify", "preflight", "outputs"])
def test_whoever_is_not_logged_in_sees_that_and_nothing_counts_as_checked(
    place: Place, verb: str
) -> None:
    place.azure.stranger = True
    done = CliRunner().invoke(app, ["azure", verb, "-g", NAME])
    assert done.exit_code == 1
    assert "Azure does not know who asks" in done.stderr
    assert done.stderr.rstrip().endswith("Log in: `az login`")


def test_a_missing_login_is_reported_as_one_that_azure_refuses(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nobody(SansIOHTTPPolicy[Any, Any]):
        def on_request(self, request: object) -> None:
            raise CredentialUnavailableError("Please run 'az login' to set up an account.")

    with clients(place.azure, Nobody()) as unknown:
        monkeypatch.setattr(
            deployment, "management", lambda *_: nullcontext(Management(unknown, {}))
        )
        done = place.verify()
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith("Log in: `az login`")


def test_a_deployment_that_cannot_be_read_was_not_verified(place: Place) -> None:
    place.azure.denied = "/deployments/?$"
    done = place.verify("--no-sample")
    assert done.exit_code == 1
    assert "fault   deployment: " in done.stderr
    assert "it takes Reader on the resource group" in done.stderr


def test_what_another_deployments_shell_says_of_accounts_is_passed_over(place: Place) -> None:
    place.env |= {
        "OPENMIRROR_ROOT": "https://stother.dfs.core.windows.net",
        "OPENMIRROR_QUEUES__queueServiceUri": "https://stother.queue.core.windows.net",
        "OPENMIRROR_DEAD_LETTERS__blobServiceUri": "https://stother.blob.core.windows.net",
        "OPENMIRROR_SERVICE_CREDENTIAL": "of-another",
    }
    assert {one["verdict"] for one in place.found("--no-sample")} == {"ok"}


def test_without_a_key_the_accounts_are_those_that_the_deployment_made(place: Place) -> None:
    for name in [*place.env]:
        del place.env[name]
    place.env["OPENMIRROR_QUEUES__queueServiceUri"] = "https://stother.queue.core.windows.net"
    found = place.found("--no-sample")
    (bad,) = (one for one in found if one["verdict"] != "ok" and one["check"] == "queues")
    assert bad["verdict"] == "fault"
    # No token is sent to an emulator; what matters is whose URL it is.
    assert place.server.url in bad["what"]


def test_what_a_reader_of_the_group_may_not_see_is_unknown(place: Place) -> None:
    place.azure.denied = "/config/appsettings/list$"
    found = place.found("--no-sample")
    assert shown(found)["settings"] == shown(found)["runner"] == ["unknown"]
    (settings,) = (one for one in found if one["check"] == "settings")
    assert "it takes Website Contributor" in settings["what"]


# --- The accounts' side ---------------------------------------------------------------------------


def test_a_poison_message_and_a_missing_queue_are_named(place: Place) -> None:
    place.queues.get_queue_client(f"{EVENTS_QUEUE}-poison").send_message("bad")
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("queues", "fault")
    assert "1 message lies in landing-events-poison" in bad["what"]
    place.queues.delete_queue(f"{EVENTS_QUEUE}-poison")
    assert "there is no queue landing-events-poison" in place.bad()["what"]


def test_a_missing_container_of_dead_letters_is_a_fault(place: Place) -> None:
    with BlobServiceClient.from_connection_string(place.azurite.connection_string) as blobs:
        blobs.delete_container(DEAD_LETTERS)
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("dead_letters", "fault")
    assert "there is no container dead-letters" in bad["what"]


def test_a_container_that_is_gone_is_a_fault(place: Place) -> None:
    landing = place.server.root / "landing"
    away = landing.rename(place.server.root.parent / "gone")
    found = place.found("--no-sample")
    away.rename(landing)
    gone = [one for one in found if one["verdict"] == "fault"]
    assert {one["check"] for one in gone} == {"heartbeat", "tables"}
    assert all("there is no landing" in one["what"] for one in gone)


def test_dead_letters_are_reported(place: Place) -> None:
    dead_letter = {"source": WORK_QUEUE, "identity": "a", "reason": "r", "body": "b"}
    body = json.dumps({**dead_letter, "at": "2026-11-21T10:00:00+00:00"})
    with BlobServiceClient.from_connection_string(place.azurite.connection_string) as blobs:
        container = blobs.get_container_client(DEAD_LETTERS)
        container.upload_blob("table-work/2026-11-21/a.json", body)
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("dead_letters", "warning")
    assert "1 in the container dead-letters, the newest table-work/2026-11-21/a" in bad["what"]


def test_a_paused_table_is_named_with_its_problem_and_remedy(place: Place) -> None:
    store = place.ports.store
    land(store, ORDERS, 1)
    folder = layout.table_folder(ORDERS)
    store.write(layout.join(folder, "_metadata.json"), b"{")
    place.swept()
    place.queues.get_queue_client(WORK_QUEUE).clear_messages()
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("tables", "fault")
    assert "sales/dbo.orders is paused by MetadataInvalid" in bad["what"]
    assert "Write a valid _metadata.json" in bad["remedy"]


def test_a_timer_that_stands_still_is_named_and_who_sweeps_in_its_place(place: Place) -> None:
    place.beat(ended=timedelta(minutes=9), timer=timedelta(minutes=9))
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("sweep", "fault")
    assert "the timer of the function sweep stands still" in bad["what"]
    assert "in its place" not in bad["what"]
    assert "az functionapp restart" in bad["remedy"]
    place.beat(ended=timedelta(minutes=1), timer=timedelta(minutes=9))
    assert "events sweep in its place" in place.bad()["what"]
    place.beat(ended=timedelta(minutes=1), timer=None)
    assert "it has not gone off yet" in place.bad()["what"]


def test_an_app_that_never_swept_is_named(place: Place) -> None:
    place.ports.store.delete_file(layout.sweep_record())
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("sweep", "fault")
    assert "has ended yet" in bad["what"]


def test_a_sweep_that_takes_longer_than_the_time_between_two_is_a_warning(place: Place) -> None:
    place.beat(seconds=41.3)
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("sweep", "warning")
    assert "took 41 s, longer than the 30 s between two" in bad["what"]


def test_a_mirror_that_nobody_sweeps_is_named(place: Place) -> None:
    land(place.ports.store, ORDERS, 1)
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("heartbeat", "fault")
    assert "on the mirror sales yet" in bad["what"]
    old = datetime.now(UTC) - timedelta(minutes=10)
    path = layout.join(layout.monitoring("sales"), "replicator.json")
    place.ports.store.write(path, json.dumps({"lastHeartbeatTime": old.isoformat()}).encode())
    assert f"since {old:%Y-%m-%d %H:%M} UTC" in place.bad()["what"]


def test_a_runner_that_fails_is_named_with_where_its_log_is(place: Place) -> None:
    place.jobs.pages = "https://adb-1.2.azuredatabricks.net"
    place.jobs.start("a")
    assert {one["verdict"] for one in place.found("--no-sample")} == {"ok"}
    place.jobs.end("LIBRARY_INSTALLATION_ERROR", "no such wheel")
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("runner", "fault")
    assert "LIBRARY_INSTALLATION_ERROR: no such wheel" in bad["what"]
    assert "https://adb-1.2.azuredatabricks.net/?o=1#job" in bad["remedy"]


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("OPENMIRROR_JOB", "the runner", "OPENMIRROR_JOB is 'the runner', but must be the number"),
        ("DATABRICKS_HOST", "adb-1.2.azuredatabricks.net", "must be the https:// URL"),
        ("DATABRICKS_HOST", "https://[adb", "must be the https:// URL"),
    ],
)
def test_a_wrong_setting_of_the_job_is_a_finding_and_all_else_is_still_checked(
    place: Place, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, says: str
) -> None:
    if setting == "DATABRICKS_HOST":
        monkeypatch.setattr(deployment, "workspace", workspace)
    place.azure.settings[setting] = value
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("runner", "fault")
    assert says in bad["what"]


def test_a_job_that_somebody_deleted_is_a_fault(place: Place) -> None:
    place.jobs.gone = True
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("runner", "fault")
    assert "does not exist" in bad["what"]
    assert "databricksJobId" in bad["remedy"]


def test_file_events_that_unity_catalog_has_on_are_a_warning(place: Place) -> None:
    place.jobs.locations[0]["effective_enable_file_events"] = True
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("locations", "warning")
    assert "file events on for openmirror_landing" in bad["what"]
    assert "external-locations update openmirror_landing --json" in bad["remedy"]


def test_file_events_of_other_accounts_are_nobodys_affair_here(place: Place) -> None:
    url = "abfss://landing@another.dfs.core.windows.net/"
    other = {"name": "another", "url": url, "effective_enable_file_events": True}
    place.jobs.locations.append(other)
    assert shown(place.found("--no-sample"))["locations"] == ["ok"]


def test_locations_that_cannot_be_seen_or_say_nothing_are_not_called_well(place: Place) -> None:
    del place.jobs.locations[0]["effective_enable_file_events"]
    assert shown(place.found("--no-sample"))["locations"] == ["unknown"]
    place.jobs.locations.clear()
    assert shown(place.found("--no-sample"))["locations"] == ["unknown"]
    place.jobs.sees_locations = False
    assert shown(place.found("--no-sample"))["locations"] == ["unknown"]


def test_accounts_that_cannot_be_opened_are_a_finding(place: Place) -> None:
    deployed = place.azure.deployments[0]["properties"]["outputs"]
    deployed[next(name for name in deployed if name.upper() == "OPENMIRROR_ROOT")]["value"] = (
        "mirrors"
    )
    found = place.found()
    faults = [one for one in found if one["verdict"] == "fault"]
    assert "OPENMIRROR_ROOT must be" in faults[-1]["what"]
    assert shown(found)["runner"] == ["ok"]


def test_what_was_found_is_shown_also_when_the_rest_cannot_be_checked(place: Place) -> None:
    def meanwhile(_: str) -> None:
        place.azure.stranger = True

    place.azure.on_path = ("/sites/[^/]+/functions$", meanwhile)
    ended = place.verify("--no-sample", "--json")
    assert ended.exit_code == 1
    shown = [one["check"] for one in json.loads(ended.stdout)["data"]]
    assert shown == ["deployment", "app", "functions"]
    assert "Azure does not know who asks" in ended.stderr


def test_work_that_no_run_takes_is_reported(place: Place) -> None:
    place.queues.get_queue_client(WORK_QUEUE).send_message("work")
    bad = place.bad()
    assert (bad["check"], bad["verdict"]) == ("runner", "warning")
    assert "1 message waits in table-work, and no run of the job is active" in bad["what"]


# --- The sample that does not come through --------------------------------------------------------


def stuck(place: Place, timeout: str = "0") -> dict[str, str]:
    (found,) = (one for one in place.found("--timeout", timeout) if one["check"] == Check.SAMPLE)
    assert found["verdict"] == "fault"
    return found


def test_without_functions_the_sample_says_that_nothing_saw_it(place: Place) -> None:
    found = stuck(place)
    assert "no event arrived, and no sweep has seen the file either" in found["what"]
    assert "The functions do not run" in found["remedy"]


def test_events_that_nobody_takes_are_reported(place: Place) -> None:
    place.server.on_event = lambda event: place.queues.get_queue_client(EVENTS_QUEUE).send_message(
        json.dumps(event)
    )
    found = stuck(place)
    assert "event(s) lie in the queue, and the function landing does not take them" in found["what"]


def test_a_work_item_that_no_runner_takes_is_reported(place: Place) -> None:
    place.on_sleep = place.swept
    found = stuck(place, "1s")
    assert "work item(s) lie in the queue, and no runner takes them" in found["what"]
    assert "start_runner" in found["remedy"]
    assert place.slept >= timedelta(seconds=2)


def test_a_run_that_fails_is_reported(place: Place) -> None:
    place.jobs.start("a")
    place.jobs.end("DRIVER_ERROR", "out of memory")
    place.on_sleep = place.swept
    found = stuck(place, "1s")
    assert "the last run of the job failed: DRIVER_ERROR: out of memory" in found["what"]


def test_a_paused_sample_is_reported_at_once(place: Place) -> None:
    folder = layout.table_folder(FOLDER)
    place.ports.store.write(layout.join(folder, "_metadata.json"), b"{")
    found = stuck(place, "1h")
    assert "its table is paused by MetadataInvalid" in found["what"]
    assert place.slept < timedelta(minutes=1)


def test_a_sample_that_cannot_be_landed_is_a_fault(place: Place) -> None:
    place.env["OPENMIRROR_ACCOUNT_KEY"] = "d3Jvbmc="
    found = stuck(place)
    assert "access is denied" in found["what"]
    assert found["remedy"].endswith("Or verify with --no-sample.")
    assert {one["verdict"] for one in place.found("--no-sample")} == {"ok", "unknown"}


def test_a_held_sample_is_reported_at_once(place: Place) -> None:
    stuck(place)
    place.swept()
    hold(place.ports, FOLDER, Operator("ops"))
    found = stuck(place, "1h")
    assert "its table is held" in found["what"]
    assert found["remedy"] == "openmirror resume openmirror-verify/dbo.sample"
    assert place.slept < timedelta(minutes=1)


def test_a_moment_without_an_answer_is_no_reason_to_give_up(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([Unavailable("busy")])

    def present(self: ParquetSampleRow, table: StorePath) -> dict[str, datetime]:
        for error in answers:
            raise error
        return {}

    monkeypatch.setattr(ParquetSampleRow, "present", present)
    assert "no event arrived" in stuck(place, "1s")["what"]
    assert place.slept >= timedelta(seconds=2)


@pytest.mark.parametrize("broken", ["file", "commit", "column", "time"])
def test_a_sample_table_that_cannot_be_read_is_a_finding(place: Place, broken: str) -> None:
    at = place.server.root / layout.delta_table(MIRROR, TableName("dbo", "sample"))
    kept = {"key" if broken == "column" else "id": ["a"], "landedAt": ["yesterday"]}
    deltalake.write_deltalake(str(at), pa.table(kept))
    spoilt = {"file": next(at.glob("*.parquet")), "commit": next(at.glob("_delta_log/*.json"))}
    if broken in spoilt:
        spoilt[broken].write_bytes(b"PAR1 and no more")
    found = stuck(place)
    assert "the sample's table" in found["what"]
    assert "cannot be read" in found["what"]
    assert found["remedy"].endswith("Or verify with --no-sample.")


def test_each_verification_takes_the_next_number(place: Place) -> None:
    stuck(place)
    stuck(place)
    landed = place.ports.store.list_folder(layout.table_folder(FOLDER)).entries
    assert [one.name for one in landed] == [
        "00000000000000000001.parquet",
        "00000000000000000002.parquet",
        "_metadata.json",
    ]
    assert MIRROR == "openmirror-verify"
