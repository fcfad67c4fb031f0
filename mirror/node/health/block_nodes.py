"""The source of blocks, and the block nodes, in words. Source: `LoaderState.block_source`."""

from collections.abc import Iterator, Mapping
from typing import Any

from mirror.core.values.human_readable import duration

Reported = Mapping[str, Any]

# The sentence names so many nodes; the JSON has all.
_MAX_NAMED = 5


def sentences(source: Reported | None, now: float) -> str:
    """Return where blocks come from and why, and the state of each block node; `now` is in seconds."""
    if not source:
        return ""
    why = f": {source['why']}" if source["why"] else ""
    used = any(node["used"] for node in source["nodes"])
    nodes = "; ".join(_node(node, now, used=used) for node in source["nodes"][:_MAX_NAMED])
    others = len(source["nodes"]) - _MAX_NAMED
    more = f"; and {others} more" if others > 0 else ""
    known = f" Block nodes, the preferred one first: {nodes}{more}." if nodes else ""
    return f"Blocks come from {source['now']}{why}.{known}"


def set_aside(source: Reported | None, now: float) -> Iterator[tuple[Reported, int]]:
    """Yield the nodes that are set aside, each with the seconds until it is used again like the others."""
    for node in source["nodes"] if source else ():
        if node["set_aside_until"] and node["set_aside_until"] > now:
            yield node, round(node["set_aside_until"] - now)


def _node(node: Reported, now: float, *, used: bool) -> str:
    """Return the state of a node; its blocks, which change, only while no node is `used`."""
    parts, set_aside_for = [node["name"]], [seconds for _, seconds in set_aside({"nodes": [node]}, now)]
    # A loader of an older release does not report the answer.
    answer = "" if node["used"] else node.get("answer", "")
    is_silent = bool(answer) and not node["blocks"]
    if node["latency_ms"] is not None:
        parts.append(f"{node['latency_ms']:,} ms after the end of a block")
    elif not is_silent:
        parts.append("whose latency is not known")
    parts += [f"set aside for another {duration(seconds)}" for seconds in set_aside_for]
    # If a node does not answer, that is newer than the failure of its last stream.
    if node["last_failure"] and (set_aside_for or (node["failures"] and not is_silent)):
        parts.append(f"last failure: {node['last_failure'].rstrip('.')}")
    if is_silent or (answer and not used):
        parts.append(f"asked {duration(max(round(now - node['answered']), 0))} ago: {answer}")
    return ", ".join(parts)
