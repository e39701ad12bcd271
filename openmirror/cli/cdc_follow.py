"""`openmirror cdc follow`: topics that a connector of somebody else's fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.cdc_verbs import RetryOption, TriggerOption, interval, need_packages_of_topics
from openmirror.cli.choosing import ExcludeOption, IncludeOption, NamesOption, table_choice
from openmirror.cli.console import say
from openmirror.cli.landing_target import (
    ZoneOption,
    landing_target,
    need_mirror_name,
    need_one_target,
)
from openmirror.cli.landing_underway import SECONDS_TO_STOP, LandingUnderway, begin_landing
from openmirror.cli.options import RootOption, Verbose, settings_for
from openmirror.errors import OpenmirrorError, WrongRequest

if TYPE_CHECKING:
    from openmirror.cdc.relay.running import RunningRelay
    from openmirror.wiring.relays import RelayWishes
    from openmirror.wiring.topics import Cluster


def follow(
    topic: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="kafka://broker:9092/topic, or eventhubs://NAMESPACE.servicebus.windows.net/hub; "
            "several brokers with commas, and * in the topic's name for any characters.",
        ),
    ],
    root: RootOption = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror",
            metavar="NAME",
            help="The mirror that gets the tables, made where there is none. Default: the topic's "
            "name.",
            show_default=False,
        ),
    ] = None,
    zone: ZoneOption = None,
    client_config: Annotated[
        Path | None,
        typer.Option(
            "--client-config",
            metavar="FILE",
            help="What brokers ask of a client, a name=value a line, by librdkafka's names: "
            "security.protocol, sasl.mechanisms, sasl.username, sasl.password, ssl.ca.location …; "
            "and schema.registry.url, where records are in Avro.",
            show_default=False,
        ),
    ] = None,
    trigger: TriggerOption = "1s",
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            help="Delete the landing folders of all tables of these topics, and land them from "
            "the first record that is there, which has to be a snapshot's: for a topic that was "
            "made again, or whose retention has passed what is wanted.",
        ),
    ] = False,
    retry: RetryOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    names: NamesOption = None,
    verbose: Verbose = False,
) -> None:
    """Mirror what Debezium writes into topics of Kafka or Event Hubs, until stopped.

    For connectors that run in Kafka Connect: for PostgreSQL, MySQL, MariaDB, SQL Server and Oracle,
    with envelopes as JSON with schemas (`openmirror cdc template`). Each topic has one partition,
    and all the tables that it has changes of; a table is in one topic. Topics are read from their
    first record on, and everything may be stopped or killed at any time: it goes on from there when
    it is run again. Nothing is written into them.

    Topics are matched when this begins; one that is made later is followed from the next start on.

    \b
    Example:
      openmirror cdc follow kafka://broker:9092/shop --root ~/mirrors
      openmirror cdc follow 'kafka://broker:9092/shop.public.*' --mirror shop --root ~/mirrors
      openmirror cdc follow kafka://broker:9092/shop --exclude '*.audit' --name crm.users=crm.people
      openmirror cdc follow eventhubs://shop.servicebus.windows.net/shop --client-config hub.conf
      openmirror cdc follow kafka://broker:9092/shop \\
        --zone https://contoso.dfs.core.windows.net/landing/shop/Files/LandingZone
    """
    need_packages_of_topics()
    from openmirror.publishing.naming import table_path
    from openmirror.topic_address import TopicAddress
    from openmirror.wiring.relays import RelayWishes
    from openmirror.wiring.topics import cluster_of

    settings = settings_for(root, options={"client_config": client_config})
    need_one_target(settings, zone, root, mirror)
    address = TopicAddress.parse(topic)
    name = mirror or address.pattern
    if zone is None:
        if "*" in name:
            raise WrongRequest(f"{address} may be several topics: name their mirror with --mirror")
        need_mirror_name(name)
    again = tuple(map(table_path, retry or ()))
    wishes = RelayWishes(
        interval(trigger),
        anew=anew,
        retry=again,
        choice=table_choice(include, exclude, names),
    )
    cluster = cluster_of(address, settings.client_config)
    topics = cluster.brokers.topics()
    if wishes.retry and len(topics) > 1:
        raise WrongRequest(f"--retry: name one topic in the URL, of {', '.join(topics)}")
    with ExitStack() as parts:
        target = landing_target(parts, settings, name, zone)
        here = begin_landing(parts, settings, target, verbose=verbose)
        here.say(f"mirroring {address}; Ctrl-C stops")
        _follow(parts, here, cluster, topics, wishes)
    say("stopped")


def _follow(
    parts: ExitStack,
    here: LandingUnderway,
    cluster: Cluster,
    topics: Sequence[str],
    wishes: RelayWishes,
) -> None:
    from openmirror.wiring.topics import relaying_topic

    followed = _FollowedTopics(here.say, len(topics))
    for topic in topics:
        with followed.apart(topic):
            relay = parts.enter_context(
                relaying_topic(
                    *(cluster, topic, here.zone, here.spark, wishes),
                    *(here.landed, here.lines.trouble),
                )
            )
            followed.relays[topic] = relay
            here.lines.begin(relay.stopped)
    parts.enter_context(here.live())
    while not here.stop.is_set():
        here.serve(0.2)
        followed.check()
    for relay in followed.relays.values():
        relay.stop(SECONDS_TO_STOP)
    here.end()


class _FollowedTopics:
    """Relays of topics, of which one that ends keeps no other from going on."""

    def __init__(self, report: Callable[[str], None], many: int) -> None:
        self.relays: dict[str, RunningRelay] = {}
        self._report = report
        self._left = many

    def check(self) -> None:
        """Name those that have ended; raises what the last one of all ended with."""
        for topic, relay in list(self.relays.items()):
            with self.apart(topic):
                relay.check()

    @contextmanager
    def apart(self, topic: str) -> Iterator[None]:
        """What ends one topic within the block ends no other."""
        try:
            yield
        except OpenmirrorError as error:
            self.relays.pop(topic, None)
            self._left -= 1
            if not self._left:
                raise
            self._report(f"topic {topic} is landed no further: {error}")
