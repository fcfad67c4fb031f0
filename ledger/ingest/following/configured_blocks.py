"""The source of blocks that the settings importer.block.* name: block nodes, a bucket, or both."""

import json
import re
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from django.db import DatabaseError

from ledger.ingest.following.block_sources import BlockNodeSource, FailoverBlockSource
from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node import addresses
from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint
from ledger.stream.source.block_node.scheduler import Measuring, Order, Rules
from ledger.stream.source.configured import NoBucket, block_bucket
from ledger.stream.source.stream_blocks import BlockBucket, BlockSource
from mirror.core import config, logs
from mirror.core.config import reverse_proxies
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements

log = logs.logger(__name__)

DEFAULT_PORT = 40840

_BLOCK = "importer.block."
_STREAM = _BLOCK + "stream."
_ENDPOINT = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[^\s:/]+)(:(?P<port>\d{1,5}))?")
# Registered nodes change seldom, and reading them takes a millisecond.
_DISCOVERY_SECONDS = 10.0
_NODE_OPTIONS = ("priority", "status")
_BLOCK_NODE = 1
# Index: registered_node__type.
_REGISTERED = f"""
    select service_endpoints from registered_node
    where type @> '{{{_BLOCK_NODE}}}' and deleted is false order by registered_node_id"""


def open_block_source(location: str = "") -> BlockSource:
    """Open the source of blocks from `location`, or else the configured one. Errors: OperatorError."""
    source_type = config.value(_BLOCK + "sourceType")
    if location or source_type == "FILE":
        return _bucket(location)
    nodes = Nodes()
    if source_type == "BLOCK_NODE":
        return _block_nodes(nodes)
    try:
        bucket = _bucket("")
    except NoBucket:
        if not nodes():
            raise
        # A private network may have no bucket at all.
        return _block_nodes(nodes)
    timeout: float = config.value("importer.downloader.timeout")
    return FailoverBlockSource(_block_nodes(nodes), bucket, lambda: bool(nodes()), timeout=timeout)


def _bucket(location: str) -> BlockBucket:
    return BlockBucket(
        block_bucket(location),
        config.value("network"),
        max_prefetch=config.value("importer.downloader.batchSize"),
    )


def _block_nodes(nodes: Callable[[], list[BlockNode]]) -> BlockNodeSource:
    def value(name: str) -> Any:
        return config.value(_BLOCK + "scheduler." + name)

    rules = Rules(
        order=Order(value("type")),
        max_failures=config.value(_STREAM + "maxSubscribeAttempts"),
        readmit_after=config.value(_STREAM + "readmitDelay"),
        min_latency_gain=value("rescheduleLatencyThreshold"),
        min_change_seconds=value("minRescheduleInterval"),
        max_processing=value("maxPostProcessingLatency"),
    )
    measuring = Measuring(
        interval=value("latency.frequency"),
        timeout=value("latency.timeout"),
        backlog=value("latency.backlog"),
    )
    originals = config.value(_BLOCK + "writeFiles") or config.value(_BLOCK + "persistBytes")
    return BlockNodeSource(nodes, rules, _limits(originals=originals), measuring)


def _limits(*, originals: bool) -> Limits:
    """Return the limits of what block nodes may send; `originals` if the bytes that came are of use."""
    return Limits(
        items=config.value(_STREAM + "maxBlockItems"),
        block_bytes=config.value(_STREAM + "maxBlockSize"),
        message_bytes=config.value(_STREAM + "maxStreamResponseSize"),
        originals=originals,
        block_seconds=config.value("importer.downloader.timeout"),
        status_seconds=config.value(_STREAM + "responseTimeout"),
        shutdown_seconds=config.value(_STREAM + "shutdownTimeout"),
    )


class Nodes:
    """The block nodes of the settings, and those that are registered with the network."""

    def __init__(self) -> None:
        """Errors: OperatorError."""
        reverse_proxies.check(addresses.SETTING)
        self._configured = [_node(text) for text in config.value(_BLOCK + "nodes")]
        self._discovers: bool = config.value(_BLOCK + "autoDiscoveryEnabled")
        self._discovered: list[BlockNode] = []
        self._next_discovery = 0.0

    def __call__(self) -> list[BlockNode]:
        if self._discovers and time.monotonic() > self._next_discovery:
            self._next_discovery = time.monotonic() + _DISCOVERY_SECONDS
            try:
                self._discovered = discovered()
            except DatabaseError as error:
                # The loader uses the database next, and handles an outage.
                log.warning("block_nodes_not_discovered", reason=str(error).strip())
                self._discovered = []
        registered = {frozenset((node.status, node.stream)) for node in self._discovered}
        configured = {frozenset((node.status, node.stream)) for node in self._configured}
        own = [node for node in self._configured if frozenset((node.status, node.stream)) not in registered]
        # The operator vouches for the address of one that the settings name, too.
        checked = (
            replace(node, registered=frozenset((node.status, node.stream)) not in configured)
            for node in self._discovered
        )
        return list(dict.fromkeys((*own, *checked)))


def discovered() -> list[BlockNode]:
    """Return the block nodes that are registered with the network. Source: registered_node."""
    registered = statements.column(_REGISTERED)
    nodes_endpoints = (json.loads(value) if isinstance(value, str) else value for value in registered)
    return [node for endpoints in nodes_endpoints if (node := registered_node(endpoints))]


def registered_node(endpoints: Any) -> BlockNode | None:
    """Return the block node at endpoints that consensus nodes PUBLISH to, which has all blocks; else None."""
    parsed: list[tuple[Endpoint, set[str]]] = []
    for each in endpoints or ():
        apis = set((each.get("block_node") or {}).get("endpoint_apis") or ())
        host = (each.get("domain_name") or "").strip() or (each.get("ip_address") or "").strip()
        if ":" in host:
            host = f"[{host}]"
        if host and apis:
            port, tls = each.get("port") or DEFAULT_PORT, each.get("requires_tls", False)
            parsed.append((Endpoint(host, port, tls), apis))
    if not any("PUBLISH" in apis for _, apis in parsed):
        return None
    # An endpoint that has both is preferred.
    parsed.sort(key=lambda entry: not {"STATUS", "SUBSCRIBE_STREAM"} <= entry[1])
    status = next((endpoint for endpoint, apis in parsed if "STATUS" in apis), None)
    stream = next((endpoint for endpoint, apis in parsed if "SUBSCRIBE_STREAM" in apis), None)
    return BlockNode(status, stream, registered=True) if status and stream else None


# A BLOCK OF THE PAST


def fetch_block(number: int, block_hash: str) -> bytes | None:
    """Return the block of a hash from the first block node with it, else None. Errors: OperatorError."""
    limits = _limits(originals=True)
    for node in Nodes()():
        with closing(BlockNodeClient(node, limits)) as client, suppress(StreamFileError):
            available = client.available(limits.status_seconds)
            if available is None or not available.has(number):
                continue
            seconds = limits.block_seconds
            with closing(client.subscribe(number, number, seconds_per_block=seconds)) as subscription:
                block = subscription.next(seconds)
            if block is not None and (block.file.wrapper or block.file).hash == block_hash:
                return block.file.original
    return None


# SETTINGS


def _node(text: str) -> BlockNode:
    """Return the block node in an entry of the setting. Errors: OperatorError."""
    endpoint, *options = text.split()
    tls = "tls" in options
    values = dict(option.split("=", 1) for option in options if "=" in option)
    valid = {"tls", *(f"{name}={value}" for name, value in values.items() if name in _NODE_OPTIONS)}
    if not valid.issuperset(options) or not values.get("priority", "0").isdecimal():
        raise _invalid_node(text)
    stream = _endpoint(text, endpoint, tls)
    status = _endpoint(text, values["status"], tls) if "status" in values else stream
    return BlockNode(status, stream, int(values.get("priority", "0")))


def _endpoint(text: str, host_and_port: str, tls: bool) -> Endpoint:
    match = _ENDPOINT.fullmatch(host_and_port)
    port = int(match["port"] or DEFAULT_PORT) if match else 0
    if match is None or not 0 < port < 1 << 16:
        raise _invalid_node(text)
    return Endpoint(match["host"], port, tls)


def _invalid_node(text: str) -> OperatorError:
    variable = config.lookup(_BLOCK + "nodes").variable
    return OperatorError(
        f"{variable}: {text!r} is no block node, such as node1.example.com:40840, or "
        "node2.example.com:443 tls priority=1 status=node2.example.com:8443."
    )
