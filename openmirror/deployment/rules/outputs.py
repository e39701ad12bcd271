"""What a deployment says of what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from openmirror.deployment.rules.findings import Check, Finding, fault, ok
from openmirror.ports.management import Deployment, DeploymentState


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Those outputs of infra/bicep/main.bicep that are needed here, under their own names."""

    deployment_name: str
    openmirror_root: str
    openmirror_queues: str
    openmirror_dead_letters: str
    lake_account: str
    runtime_account: str
    function_app: str
    functions_principal_id: str
    runner_principal_id: str
    system_topic: str
    event_subscription: str
    application_insights: str

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Outputs | list[str]:
        """The outputs, or the names of those that are missing."""
        # Azure changes the case of the first letters of some names.
        known = {name.upper(): value for name, value in given.items()}
        wanted = {field.name: field.name.upper() for field in fields(cls)}
        if missing := [name for name in wanted.values() if not known.get(name)]:
            return missing
        return cls(**{field: known[name] for field, name in wanted.items()})


_OTHERWISE = {
    "OPENMIRROR_QUEUES": "OPENMIRROR_QUEUES__queueServiceUri",
    "OPENMIRROR_DEAD_LETTERS": "OPENMIRROR_DEAD_LETTERS__blobServiceUri",
    "APPLICATIONINSIGHTS_CONNECTION_STRING": "BUNDLE_VAR_telemetry",
}
"""Under their own names, these would be settings of whatever is run in that shell."""
_BUNDLE = {
    "OPENMIRROR_ROOT": "BUNDLE_VAR_root",
    "OPENMIRROR_QUEUES": "BUNDLE_VAR_queues",
    "RUNNER_CLIENT_ID": "BUNDLE_VAR_runner_client_id",
    "FUNCTIONS_CLIENT_ID": "BUNDLE_VAR_functions_client_id",
}
"""Variables of the Databricks bundle, besides."""


def variables(given: Mapping[str, str]) -> dict[str, str]:
    """A deployment's outputs as variables of a shell; what is empty is left out."""
    known = {name.upper(): value for name, value in given.items() if value}
    plain = {_OTHERWISE.get(name, name): value for name, value in known.items()}
    bundle = {_BUNDLE[name]: value for name, value in known.items() if name in _BUNDLE}
    return dict(sorted({**plain, **bundle}.items()))


def is_ours(deployment: Deployment, name: str | None = None) -> bool:
    """Whether it made an openmirror, the one of this `name`, whatever it is called itself."""
    made = made_by(deployment)
    return made is not None and name in (None, made)


def made_by(deployment: Deployment) -> str | None:
    """The `name` of the openmirror that it made; None where its outputs do not say that."""
    made = Outputs.read(deployment.outputs)
    return made.deployment_name if isinstance(made, Outputs) else None


def check_deployment(
    group: str, called: str, found: Deployment | None
) -> tuple[Finding, Outputs | None]:
    """Whether it was deployed; with its outputs where the rest can be checked."""
    if found is None:
        return _fault(
            f"the group {group} remembers no deployment {called!r}",
            "Deploy it: docs/DEPLOY.md. It may be in another group, or have another --name.",
        )
    if found.state is DeploymentState.RUNNING:
        return _fault(
            "the deployment is still running",
            "Wait until it has ended: az stack group show --name "
            f"{called} --resource-group {group} --query provisioningState",
        )
    outputs = Outputs.read(found.outputs)
    if found.state is DeploymentState.FAILED:
        finding, _ = _fault(
            f"the deployment failed: {found.error or 'no reason is given'}",
            "Remove the cause and deploy again: what is there already is taken up.",
        )
        return finding, outputs if isinstance(outputs, Outputs) else None
    if not isinstance(outputs, Outputs):
        return _fault(
            f"the deployment says nothing of {', '.join(outputs)}",
            "It was made by another template or version: deploy again with this one.",
        )
    return ok(Check.DEPLOYMENT, f"{found.name} succeeded"), outputs


def _fault(what: str, remedy: str) -> tuple[Finding, None]:
    return fault(Check.DEPLOYMENT, what, remedy), None
