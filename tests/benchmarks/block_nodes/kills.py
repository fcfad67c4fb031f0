"""Kill the loader repeatedly: while it follows a block node, and as it goes over to blocks."""

import random
import time
from collections import Counter
from pathlib import Path

from mirror.demo.publish.block_node import BlockNodeServer
from tests.benchmarks.block_nodes.network import (
    Follower,
    Network,
    compare,
    composed,
    digests,
    load,
)

_BLOCKS, _TPS = 150, 20
# The last block is not published before the last kill, so that there is something to do.
_PATIENCE_SECONDS = 60
_THRESHOLD_SECONDS = 8


def while_following(folder: Path, kills: int, seed: int) -> bool:
    """Kill a loader that follows a block node, at random moments of its loading."""
    network = composed(folder / "network", _BLOCKS, _TPS, seed)
    expected = load(folder / "plain", network)
    choose = random.Random(seed)
    with BlockNodeServer() as server:
        follower = Follower(
            folder / "followed",
            **network.variables
            | {
                "SVC_MIRROR_IMPORTER_BLOCK_NODES": f"127.0.0.1:{server.port}",
                # Small batches, so that there are many moments between two commits.
                "SVC_MIRROR_IMPORTER_PARSER_RECORD_BATCH_MAXITEMS": "100",
            },
        )
        published = -1
        for kill in range(1, kills + 1):
            until = (len(network.blocks) - 1) * kill // (kills + 1)
            before = follower.last()
            follower.start()
            while published < until:
                published += 1
                server.publish(published, network.blocks[published])
            _wait_for_progress(follower, before)
            time.sleep(choose.uniform(0, 0.15))
            follower.kill()
        follower.start()
        for number in range(published + 1, len(network.blocks)):
            server.publish(number, network.blocks[number])
        follower.wait_for(max(network.blocks))
        follower.stop()
    print(f"{kills} kills while following a block node, {len(network.blocks)} blocks", flush=True)
    return compare(expected, digests(folder / "followed"))


def at_the_switch_over(folder: Path, kills: int, seed: int) -> bool:
    """Kill a loader around the end of the record files and the first blocks, in several histories."""
    first_block = _BLOCKS // 2
    network = composed(folder / "network", _BLOCKS, _TPS, seed, first_block=first_block)
    expected = load(folder / "plain", network)
    choose, struck, round_number, equal = random.Random(seed), 0, 0, True
    at = Counter[str]()
    while struck < kills:
        round_number += 1
        struck += _switch(folder / f"followed{round_number}", network, choose, kills - struck, at)
        equal = compare(expected, digests(folder / f"followed{round_number}")) and equal
    where = ", ".join(f"{count} {name}" for name, count in at.items())
    print(f"{struck} kills at the switch-over in {round_number} loads: {where}", flush=True)
    return equal


def _switch(data: Path, network: Network, choose: random.Random, most: int, at: Counter[str]) -> int:
    """Load a history once, with some kills; return how many there were."""
    first, struck = min(network.blocks), 0
    with BlockNodeServer() as server:
        for number, block in network.blocks.items():
            server.publish(number, block)
        follower = Follower(
            data,
            **network.variables
            | {
                "SVC_MIRROR_IMPORTER_BLOCK_ENABLED": "AUTO",
                "SVC_MIRROR_IMPORTER_BLOCK_CUTOVER_ENABLED": "true",
                "SVC_MIRROR_IMPORTER_BLOCK_CUTOVER_THRESHOLD": f"{_THRESHOLD_SECONDS}s",
                "SVC_MIRROR_IMPORTER_BLOCK_NODES": f"127.0.0.1:{server.port}",
                "SVC_MIRROR_IMPORTER_PARSER_RECORD_BATCH_MAXITEMS": "100",
            },
        )
        moments = {
            "among the last record files": (choose.randrange(first // 2, first - 1), 0.05),
            "between them and blocks": (first - 1, _THRESHOLD_SECONDS + 1),
            "after the first block": (first, 0.05),
            "among the first blocks": (first + 1, 0.2),
        }
        for name, (last, seconds) in list(moments.items())[:most]:
            follower.start()
            follower.wait_for(last)
            time.sleep(choose.uniform(0, seconds))
            follower.kill()
            struck += 1
            at[name] += 1
        follower.start()
        follower.wait_for(max(network.blocks))
        follower.stop()
    return struck


def _wait_for_progress(follower: Follower, before: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while follower.last() <= before and time.monotonic() < deadline:
        time.sleep(0.01)
