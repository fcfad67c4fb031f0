"""The live demo network that writes blocks: its block node serves them, and the node follows that.

One thread lets the network go on, and another one follows; so the node takes nothing from the network but
what the block node sends, and verifies it.
"""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.follower import BlockFollower
from ledger.ingest.hash_chain import Position
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.block import block_file
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config
from mirror.core.db.availability import outage
from mirror.core.logs import Echo
from mirror.demo.actions import genesis
from mirror.demo.network import Network
from mirror.demo.publish.block_node import BlockNodeServer
from mirror.demo.publish.history import BLOCK_SECONDS, BLOCKS_VERSION, next_block
from mirror.demo.publish.producing import BLOCKS_REMEMBERED, BLOCKS_RETAINED, SOURCE, TPS, next_blocks
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.block_stream import BlockComposer, WrappingComposer
from mirror.demo.streams.keys import block_signer, first_book
from mirror.demo.streams.state_changes import KnownAccounts


def live(echo: Echo, publisher: Publisher, stopping: threading.Event) -> None:
    """Produce and follow a block every two seconds, until stopped.

    Errors: OperatorError, StreamFileError, IngestError.
    """
    network, _ = publisher.resume()
    with BlockNodeServer(config.value("demo.blockNodePort"), folder=publisher.blocks) as server:
        if not publisher.writes_blocks:
            switch_to_blocks(publisher, network)
            echo("The demo network goes over from record files to blocks.")
        address = f"127.0.0.1:{server.port}"
        echo(
            f"The demo network is live: a block every {BLOCK_SECONDS} seconds, which the block node at "
            f"{address} serves."
        )
        with ThreadPoolExecutor(1, thread_name_prefix="demo network") as thread:
            producing = thread.submit(_produce, publisher, network, stopping, server.refresh)
            try:
                follow(publisher, address, stopping)
            finally:
                stopping.set()
                producing.result()


def switch_to_blocks(publisher: Publisher, network: Network) -> None:
    """Publish the last record file, which names the ledger that signs the blocks after it."""
    network.ledger = block_signer().identity
    network.upgrade(BLOCKS_VERSION)
    genesis.publish_ledger_id(network)
    block = next_block(network, TPS)
    wrapping = WrappingComposer()
    wrapping.pass_by(block)
    composer = BlockComposer(block_signer(), previous_hash=wrapping.hash)
    composer.set_known_accounts(known_accounts(network))
    publisher.publish(network, block, then=composer)


def known_accounts(network: Network) -> KnownAccounts:
    """Return the accounts of a network as its blocks have them."""
    known = KnownAccounts()
    for number, account in network.world.accounts.items():
        alias = account.address if account.is_contract else account.alias
        known.add(number, alias or b"", ethereum_nonce=account.nonce, smart_contract=account.is_contract)
    return known


def follow(publisher: Publisher, address: str, stopping: threading.Event) -> None:
    """Load the record files that are not in the database, then the blocks of a block node, until stopped."""

    def run() -> None:
        quorums = Quorums(first_book())
        with (
            loader_lock(),
            Reporting(source=SOURCE, following=True) as report,
            closing(files(publisher, quorums, report, stopping)) as missing,
        ):

            def note(progress: Progress) -> None:
                publisher.loaded = pipeline.committed.last or publisher.loaded
                report.loading(progress)

            pipeline = Pipeline(LoadOptions(quorums=quorums), report=note)
            pipeline.run(missing)

    with only_block_node(address):
        outage.retry_during_outage(run, stopping)


def only_block_node(address: str) -> ExitStack:
    """Let blocks come from one block node alone until the end of the context."""
    return config.overridden(
        {
            "importer.block.nodes": (address,),
            "importer.block.sourceType": "BLOCK_NODE",
            # Block nodes that people have registered with a simulated network serve nothing.
            "importer.block.autoDiscoveryEnabled": False,
        }
    )


def files(
    publisher: Publisher, quorums: Quorums, report: Reporting, stopping: threading.Event
) -> Generator[StreamFile | None]:
    """Yield the record files that are not in the database, then blocks as a network's follower does."""
    stored = Position.stored()
    if stored is None or stored.version != block_file.VERSION:
        yield from (file for file in publisher.all_published() if file.number is None)
        # All of them are stored when the second item after them is requested.
        yield None
        yield None
    yield from BlockFollower(open_block_source(), quorums, report, stopping=stopping).files()


def _produce(
    publisher: Publisher, network: Network, stopping: threading.Event, published: Callable[[], None]
) -> None:
    """Let a network continue until stopped; `published` is called after each block."""
    try:
        for block in next_blocks(network, stopping):
            if block is None:
                continue
            if block.number % BLOCKS_REMEMBERED == 0:
                publisher.set_known_accounts(known_accounts(network))
            publisher.publish(network, block)
            # Only what is in the database: the network continues while it is away.
            publisher.delete_loaded(BLOCKS_RETAINED)
            published()
    finally:
        stopping.set()
