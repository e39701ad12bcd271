"""`openmirror cdc follow`: topics that a connector of somebody else's fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.cdc_verbs import (
    ABANDONED,
    SECONDS_TO_STOP,
    RetryOption,
    TriggerOption,
    interval,
    need_packages,
)
from openmirror.cli.console import say
from openmirror.cli.mirror_underway import begin_mirror, make_zone, need_mirror_name
from openmirror.cli.options import RootOption, Verbose, settings_for
from openmirror.errors import OpenmirrorError, WrongRequest
from openmirror.runtime.stop_signals import exit_now

if TYPE_CHECKING:
    from openmirror.cdc.kafka.address import TopicAddress
    from openmirror.cdc.kafka.brokers import Brokers
    from openmirror.cdc.relay.running import RunningRelay
    from openmirror.cli.mirror_underway import MirrorUnderway
    from openmirror.settings import Settings
    from openmirror.wiring.cdc import LocalStream, RelayWishes


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
    client_config: Annotated[
        Path | None,
        typer.Option(
            "--client-config",
            metavar="FILE",
            help="What brokers ask of a client, a name=value a line, by librdkafka's names: "
            "security.protocol, sasl.mechanisms, sasl.username, sasl.password, ssl.ca.location …",
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
      openmirror cdc follow eventhubs://shop.servicebus.windows.net/shop --client-config hub.conf
    """
    need_packages("confluent_kafka")
    from openmirror.cdc.kafka.address import TopicAddress
    from openmirror.publishing.naming import table_path
    from openmirror.wiring.cdc import RelayWishes

    settings = settings_for(root)
    address = TopicAddress.parse(topic)
    name = mirror or address.pattern
    if "*" in name:
        raise WrongRequest(f"{address} may be several topics: name their mirror with --mirror")
    need_mirror_name(name)
    again = tuple(map(table_path, retry or ()))
    wishes = RelayWishes(interval(trigger), anew=anew, retry=again, own_snapshots=False)
    _follow(settings, address, client_config, name, wishes, verbose=verbose)
    say("stopped")


def _follow(
    settings: Settings,
    address: TopicAddress,
    client_config: Path | None,
    mirror: str,
    wishes: RelayWishes,
    *,
    verbose: bool,
) -> None:
    from openmirror import wiring
    from openmirror.wiring.cdc import LocalStream
    from openmirror.wiring.topics import brokers_of

    brokers = brokers_of(address, client_config)
    topics = brokers.topics()
    if wishes.retry and len(topics) > 1:
        raise WrongRequest(f"--retry: name one topic in the URL, of {', '.join(topics)}")
    with wiring.locked(settings, say), ExitStack() as parts:
        make_zone(wiring.local_root(settings), mirror)
        here = begin_mirror(parts, settings, mirror, verbose=verbose)
        followed = _FollowedTopics(here.reporter.say, len(topics))
        for topic in topics:
            stream = LocalStream(settings, mirror, topic)
            with followed.apart(topic):
                relay = parts.enter_context(_relaying(brokers, stream, wishes, here))
                followed.relays[topic] = relay
                here.lines.begin(relay.stopped)
        here.reporter.say(f"mirroring {address} into {mirror}; Ctrl-C stops")
        parts.enter_context(here.reporter.live())
        while not here.stop.is_set():
            here.running.serve(0.2)
            followed.check()
        for relay in followed.relays.values():
            relay.stop(SECONDS_TO_STOP)
        if here.running.stop():
            say(ABANDONED)
            # Spark would only be in the way of ending; a process may die anywhere.
            exit_now(0)


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


@contextmanager
def _relaying(
    brokers: Brokers, stream: LocalStream, wishes: RelayWishes, here: MirrorUnderway
) -> Iterator[RunningRelay]:
    from openmirror.wiring.cdc import relaying
    from openmirror.wiring.topics import topic_source

    with (
        topic_source(brokers, stream.name) as source,
        relaying(stream, source, here.spark, wishes, here.landed, here.lines.trouble) as relay,
    ):
        yield relay
