"""What loading would take, in words."""

from collections.abc import Callable
from dataclasses import replace

from ledger.ingest.estimate import Estimate, Fetched
from mirror.node.loading import estimate

GB = 1024**3
YEAR = Estimate(
    files=15_778_800,
    bytes=300 * GB,
    sampled=40,
    transactions=2_000_000_000,
    rows={"transaction": 2_000_000_000, "crypto_transfer": 8_000_000_000, "never_seen": 1_000},
    seconds=400_000,
    fetched=Fetched(
        sidecars=1_000_000,
        sidecar_bytes=20 * GB,
        signatures=473_364_000,
        signature_bytes=180 * GB,
        listings=946_740,
        latency=0.05,
    ),
)


def test_estimate_has_requests_price_disk_and_time() -> None:
    lines = list(estimate.lines(YEAR, paid=True))

    assert lines[1:5] == [
        "To fetch: 15,778,800 record files (300.0 GB), 1,000,000 sidecars (20.0 GB) and up to 473,364,000 "
        "signatures (180.0 GB), 500.0 GB by 490,142,800 downloads and 946,740 listings.",
        "Cost, where the requester pays: about 249.11 USD, 200.79 for requests and 48.32 for bytes that "
        "leave the bucket's region, by the settings importer.downloader.price.*.",
        "Disk: about 1.5 TB in the database, beside what entities, tokens and balances take: often a tenth "
        "as much.",
        "Time: about 8 days by one process on this machine; downloading takes longest, as fast as in the "
        "sample.",
    ]


def test_prices_and_the_number_of_requests_at_once_are_settings(settings_of: Callable[..., None]) -> None:
    settings_of(
        {
            "importer.downloader.price.read": 0.0,
            "importer.downloader.price.list": 1.0,
            "importer.downloader.price.egress": 0.0,
            "importer.downloader.maxConcurrency": 1000,
        }
    )
    lines = list(estimate.lines(YEAR, paid=True))

    assert "about 946.74 USD, 946.74 for requests and 0.00 for bytes" in lines[2]
    assert "about 4 days by one process on this machine; loading takes longest" in lines[4]


def test_folder_costs_nothing_and_files_on_disk_are_not_fetched() -> None:
    unpaid = "\n".join(estimate.lines(YEAR, paid=False))
    on_disk = "\n".join(estimate.lines(replace(YEAR, fetched=None), paid=False))

    assert "To fetch" in unpaid and "USD" not in unpaid
    assert "To fetch" not in on_disk and "about 4 days by one process" in on_disk
