"""The paths of stream files in a bucket of record files by account, and in one of blocks."""

from ledger.stream.block import names as block_names
from ledger.stream.record import names
from mirror.core.values import entity_id

RECORDS = "recordstreams"


def node_folder(account_id: int) -> str:
    return f"{RECORDS}/record{entity_id.text(account_id)}"


def record_path(account_id: int, name: str) -> str:
    """Return the path of a record file or a signature file that a node published."""
    return f"{node_folder(account_id)}/{name}"


def sidecar_path(account_id: int, name: str) -> str:
    return f"{node_folder(account_id)}/{names.SIDECAR_FOLDER}/{name}"


def block_path(network_folder: str, number: int) -> str:
    """Return the path of a block below the folder of its network."""
    return f"{network_folder}/{block_names.in_bucket(number)}"
