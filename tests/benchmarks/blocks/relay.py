"""Read the blocks of a live node as a JSON-RPC relay does, each as soon as it is there, and only once.

    python -m tests.benchmarks.blocks.relay http://127.0.0.1:8000 --blocks 1000

A relay retries what is immature: a contract result without its place, number or hash of the block. This reads
the block, its results and logs, and each result by its hash, as eth_getBlockByNumber and
eth_getTransactionReceipt do, and counts what a relay would have to read again.
"""

import json
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from typing import Any

_POLL_SECONDS = 0.1
_PLACES = ("block_hash", "block_number", "transaction_index")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("node")
    parser.add_argument("--blocks", type=int, default=1000)
    parser.add_argument("--first", type=int, help="the first block; else the next one of the network")
    options = parser.parse_args()
    relay = Relay(f"{options.node}/api/v1")
    first = relay.newest() + 1 if options.first is None else options.first
    for number in range(first, first + options.blocks):
        while relay.newest() < number:
            time.sleep(_POLL_SECONDS)
        for immature in relay.read(number):
            relay.counts["immature"] += 1
            print(f"block {number}: {immature}", flush=True)
    print(f"{options.blocks} blocks from {first}: {dict(relay.counts)}")
    if relay.counts["immature"]:
        raise SystemExit(1)


class Relay:
    """A relay without retries; `counts` is what it has read."""

    def __init__(self, api: str) -> None:
        self.counts: Counter[str] = Counter()
        self._api = api

    def newest(self) -> int:
        return int(self._get("/blocks?limit=1&order=desc")["blocks"][0]["number"])

    def read(self, number: int) -> Iterator[str]:
        """Read a block; yield what is immature or missing in it."""
        block = self._get(f"/blocks/{number}")
        times = f"timestamp=gte:{block['timestamp']['from']}&timestamp=lte:{block['timestamp']['to']}"
        results = self._all(f"/contracts/results?{times}&limit=100&order=asc", "results")
        logs = self._all(f"/contracts/results/logs?{times}&limit=100&order=asc", "logs")
        for row in results:
            name = f"{row['result']} {row['hash']}"
            yield from self._immature(block, row, name)
            try:
                single = self._get(f"/contracts/results/{row['hash']}")
            except urllib.error.HTTPError as error:
                # A transfer without a contract is known by its logs.
                found = [log for log in logs if log["transaction_hash"] == row["hash"]]
                if error.code != 404 or not found:
                    yield f"{name}: {error}"
                continue
            yield from self._immature(block, single, f"{name} by its hash")
            yield from (
                f"{name} by its hash: {member} {single[member]} is {row[member]} in the list"
                for member in ("timestamp", "transaction_index", "gas_used", "status")
                if single[member] != row[member]
            )
            own = [log["index"] for log in logs if log["timestamp"] == row["timestamp"]]
            if [log["index"] for log in single["logs"]] != own:
                yield f"{name}: its logs are {own} in the list"
            if row["nonce"] is not None and not row["gas_used"]:
                self.counts["failed Ethereum transactions"] += 1
        yield from (text for log in logs for text in self._immature(block, log, f"log {log['index']}"))
        self.counts += Counter(blocks=1, results=len(results), logs=len(logs))

    def _immature(self, block: dict[str, Any], row: dict[str, Any], name: str) -> Iterator[str]:
        yield from (f"{name} has no {place}" for place in _PLACES if row[place] in (None, "0x"))
        if row["block_number"] != block["number"]:
            yield f"{name} is in block {row['block_number']}"

    def _all(self, path: str, member: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        link: str | None = path
        while link:
            body = self._get(link.removeprefix("/api/v1"))
            rows += body[member]
            link = body["links"]["next"]
        return rows

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self._api + path, timeout=60) as answer:
            return json.load(answer)


if __name__ == "__main__":
    main()
