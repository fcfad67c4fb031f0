"""What loading would take, in words, for `ingest --estimate`: requests, money, disk and time."""

from collections.abc import Iterator

from ledger.ingest.estimate import LOADING, Estimate, Fetched
from mirror.core import config
from mirror.core.values.human_readable import byte_size, duration

_PRICE = "importer.downloader.price."
_AS_READ = f"{LOADING:g} times as long as reading takes by the sample"

# Bytes of a row with its part of the indexes, after loading 394,602 transactions of the simulated network.
# There everything else took a tenth as much as these.
_BYTES: dict[str, int] = {
    "assessed_custom_fee": 122, "contract_action": 267, "contract_log": 607, "contract_result": 1279,
    "contract_state_change": 241, "contract_transaction": 126, "contract_transaction_hash": 156,
    "crypto_transfer": 115, "ethereum_transaction": 549, "file_data": 212, "hook_storage_change": 215,
    "nft_history": 330, "prng": 119, "record_file": 1147, "sidecar_file": 370, "token_transfer": 204,
    "topic_message": 341, "transaction": 339, "transaction_hash": 170,
}  # fmt: skip
_OTHER_BYTES = 300


def lines(expected: Estimate, *, paid: bool) -> Iterator[str]:
    """Yield sentences, and the expected rows. `paid` says that who asks the bucket pays for it."""
    yield (
        f"{expected.files:,} files of {byte_size(expected.bytes)} (without sidecars and signatures), with "
        f"about {expected.transactions:,} transactions. This is an estimate from {expected.sampled:,} files "
        "that were read; nothing is loaded."
    )
    if expected.fetched and expected.files:
        yield _to_fetch(expected, expected.fetched)
        if paid:
            yield _cost(expected, expected.fetched)
    yield (
        f"Disk: about {byte_size(disk(expected))} in the database, beside what entities, tokens and balances "
        "take: often a tenth as much."
    )
    yield f"Time: {_time(expected)}."
    yield "Expected rows, beside those of entities, tokens and what else changes:\n"
    for table, rows in expected.rows.items():
        yield f"  {table:<26} {rows:>15,}"


def disk(expected: Estimate) -> int:
    """Return the bytes that the rows take, with their indexes."""
    return sum(rows * _BYTES.get(table, _OTHER_BYTES) for table, rows in expected.rows.items())


def download_seconds(expected: Estimate) -> float:
    """Return how long the requests to the bucket take."""
    if expected.fetched is None:
        return 0.0
    at_once: int = config.value("importer.downloader.maxConcurrency")
    return _requests(expected, expected.fetched) * expected.fetched.latency / at_once


def dollars(expected: Estimate, fetched: Fetched) -> tuple[float, float]:
    """Return the price of the requests, and that of the bytes."""
    read, listed, egress = (config.value(_PRICE + name) for name in ("read", "list", "egress"))
    requests = (_requests(expected, fetched) * read + fetched.listings * listed) / 1000
    return requests, _bytes(expected, fetched) * egress / 1e9


def _to_fetch(expected: Estimate, fetched: Fetched) -> str:
    return (
        f"To fetch: {expected.files:,} record files ({byte_size(expected.bytes)}), {fetched.sidecars:,} "
        f"sidecars ({byte_size(fetched.sidecar_bytes)}) and up to {fetched.signatures:,} signatures "
        f"({byte_size(fetched.signature_bytes)}), {byte_size(_bytes(expected, fetched))} by "
        f"{_requests(expected, fetched):,} downloads and {fetched.listings:,} listings."
    )


def _cost(expected: Estimate, fetched: Fetched) -> str:
    requests, egress = dollars(expected, fetched)
    return (
        f"Cost, where the requester pays: about {requests + egress:,.2f} USD, {requests:,.2f} for requests "
        f"and {egress:,.2f} for bytes that leave the bucket's region, by the settings {_PRICE}*."
    )


def _time(expected: Estimate) -> str:
    loading, download = expected.seconds, download_seconds(expected)
    longest = max(loading, download)
    took = duration(max(round(longest), 1))
    if not expected.fetched:
        return f"about {took} by one process on this machine, {_AS_READ}"
    longest_part = f"loading takes longest, {_AS_READ}"
    if download > loading:
        longest_part = "downloading takes longest, as fast as in the sample"
    return f"about {took} by one process on this machine; {longest_part}"


def _requests(expected: Estimate, fetched: Fetched) -> int:
    return expected.files + fetched.sidecars + fetched.signatures


def _bytes(expected: Estimate, fetched: Fetched) -> int:
    return expected.bytes + fetched.sidecar_bytes + fetched.signature_bytes
