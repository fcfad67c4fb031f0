"""The source of blocks, and the block nodes, as a loader tells of them in `LoaderState.block_source`."""

from collections.abc import Iterator, Mapping
from typing import Any

from mirror.values.readable import duration

Told = Mapping[str, Any]

# The sentence names so many nodes; the status for programs has all.
_MOST_NAMED = 5


def sentences(told: Told | None, now: float) -> str:
    """Return where blocks come from and why, and what is known of each block node; times are seconds."""
    if not told:
        return ""
    why = f": {told['why']}" if told["why"] else ""
    used = any(each["used"] for each in told["nodes"])
    nodes = "; ".join(_node(each, now, used=used) for each in told["nodes"][:_MOST_NAMED])
    others = len(told["nodes"]) - _MOST_NAMED
    more = f"; and {others} more" if others > 0 else ""
    known = f" Block nodes, the preferred one first: {nodes}{more}." if nodes else ""
    return f"Blocks come from {told['now']}{why}.{known}"


def set_aside(told: Told | None, now: float) -> Iterator[tuple[Told, int]]:
    """Yield the nodes that are set aside, each with the seconds until it is asked again like the others."""
    for node in told["nodes"] if told else ():
        if node["set_aside_until"] and node["set_aside_until"] > now:
            yield node, round(node["set_aside_until"] - now)


def _node(node: Told, now: float, *, used: bool) -> str:
    """Return what is known of a node; which blocks it has only while no node is `used`, as it changes."""
    said = [node["name"]]
    if node["latency_ms"] is None:
        said.append("whose latency is not known")
    else:
        said.append(f"{node['latency_ms']:,} ms after the end of a block")
    for _, seconds in set_aside({"nodes": [node]}, now):
        said.append(f"set aside for another {duration(seconds)}")
    if node["last_failure"] and (node["failures"] or len(said) > 2):
        said.append(f"last failure: {node['last_failure'].rstrip('.')}")
    # A loader of an older release does not tell it.
    if (answer := node.get("answer")) and not node["used"] and not (used and node["blocks"]):
        ago = duration(max(round(now - node["answered"]), 0))
        said.append(f"asked {ago} ago: {answer}")
    return ", ".join(said)
