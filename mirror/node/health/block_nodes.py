"""The source of blocks, and the block nodes, as a loader tells of them in `LoaderState.block_source`."""

from collections.abc import Iterator, Mapping
from typing import Any

from mirror.core.values.human_readable import duration

AnnouncedTransaction = Mapping[str, Any]

# The sentence names so many nodes; the status for programs has all.
_MOST_NAMED = 5


def sentences(told: AnnouncedTransaction | None, now: float) -> str:
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


def set_aside(told: AnnouncedTransaction | None, now: float) -> Iterator[tuple[AnnouncedTransaction, int]]:
    """Yield the nodes that are set aside, each with the seconds until it is asked again like the others."""
    for node in told["nodes"] if told else ():
        if node["set_aside_until"] and node["set_aside_until"] > now:
            yield node, round(node["set_aside_until"] - now)


def _node(node: AnnouncedTransaction, now: float, *, used: bool) -> str:
    """Return what is known of a node; which blocks it has only while no node is `used`, as it changes."""
    said, set_aside_for = [node["name"]], [seconds for _, seconds in set_aside({"nodes": [node]}, now)]
    # A loader of an older release does not tell the answer.
    answer = "" if node["used"] else node.get("answer", "")
    is_silent = bool(answer) and not node["blocks"]
    if node["latency_ms"] is not None:
        said.append(f"{node['latency_ms']:,} ms after the end of a block")
    elif not is_silent:
        said.append("whose latency is not known")
    said += [f"set aside for another {duration(seconds)}" for seconds in set_aside_for]
    # Of a node that does not answer, the answer is newer than why its last stream failed.
    if node["last_failure"] and (set_aside_for or (node["failures"] and not is_silent)):
        said.append(f"last failure: {node['last_failure'].rstrip('.')}")
    if is_silent or (answer and not used):
        said.append(f"asked {duration(max(round(now - node['answered']), 0))} ago: {answer}")
    return ", ".join(said)
