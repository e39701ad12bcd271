"""The port `Deployed`: what is asked of a deployment that is there."""

from __future__ import annotations

from collections.abc import Mapping

from azure.mgmt.eventgrid.models import StorageQueueEventSubscriptionDestination
from azure.mgmt.web.models import FunctionEnvelope

from openmirror.deployment.azure import groups
from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.azure.failures import in_our_words
from openmirror.errors import NotThere
from openmirror.ports.management import App, Assignment, Deployment, EventSubscription

_SETTINGS_RIGHT = "Website Contributor on the Function App: Reader may not read app settings"


class ArmDeployed:
    """One subscription's deployments; each method asks Azure anew."""

    def __init__(self, clients: ManagementClients) -> None:
        self._clients = clients

    def deployments(self, group: str) -> list[Deployment]:
        """All deployments that the group remembers, the newest first."""
        return groups.deployments(self._clients, group)

    def app(self, group: str, name: str) -> App | None:
        """The Function App; None when it is gone."""
        apps = self._clients.web.web_apps
        try:
            with in_our_words(f"Function App {name}"):
                found = apps.get(group, name)
                functions = list(apps.list_functions(group, name))
        except NotThere:
            return None
        # Azure calls them app/function.
        off = {str(one.name).rpartition("/")[2]: _is_off(one) for one in functions}
        state = found.properties.state if found.properties is not None else None
        disabled = frozenset(name for name, is_off in off.items() if is_off)
        return App(str(state or "in no known state"), frozenset(off), disabled)

    def app_settings(self, group: str, name: str) -> Mapping[str, str]:
        """The Function App's settings; NotThere when it is gone."""
        with in_our_words(f"settings of {name}", _SETTINGS_RIGHT):
            found = self._clients.web.web_apps.list_application_settings(group, name)
        return dict(found.properties or {})

    def event_subscription(self, group: str, topic: str, name: str) -> EventSubscription | None:
        """A system topic's subscription; None when it, or its topic, is gone."""
        try:
            with in_our_words(f"event subscription {name}"):
                found = self._clients.events.system_topic_event_subscriptions.get(
                    group, topic, name
                )
        except NotThere:
            return None
        by_identity = found.delivery_with_resource_identity
        leads = by_identity.destination if by_identity is not None else found.destination
        kinds = found.filter.included_event_types if found.filter is not None else None
        subject = found.filter.subject_begins_with if found.filter is not None else None
        account, queue = "", ""
        if isinstance(leads, StorageQueueEventSubscriptionDestination):
            account = str(leads.resource_id or "").rpartition("/")[2]
            queue = str(leads.queue_name or "")
        return EventSubscription(
            str(found.provisioning_state), account, queue, frozenset(kinds or ()), subject or ""
        )

    def topic_principal(self, group: str, topic: str) -> str | None:
        """The system topic's own identity; None when it has none, or is gone."""
        try:
            with in_our_words(f"system topic {topic}"):
                found = self._clients.events.system_topics.get(group, topic)
        except NotThere:
            return None
        return found.identity.principal_id if found.identity is not None else None

    def assignments(self, group: str, principal: str) -> list[Assignment]:
        """Every role that a principal has in the group."""
        return assignments(self._clients, group, principal)


def _is_off(function: FunctionEnvelope) -> bool:
    properties = function.properties
    return properties is not None and properties.is_disabled is True


def assignments(clients: ManagementClients, group: str, principal: str) -> list[Assignment]:
    """Every role that a principal has on the group, above it and below it."""
    with in_our_words("the role assignments"):
        found = list(
            clients.authorization.role_assignments.list_for_resource_group(
                group, filter=f"principalId eq '{principal}'"
            )
        )
    return [
        Assignment(
            id=str(one.id),
            role=str(one.role_definition_id).rpartition("/")[2],
            scope=str(one.scope),
            conditioned=bool(one.condition),
        )
        for one in found
        # Groups that it is in are listed as well.
        if one.principal_id == principal
    ]
