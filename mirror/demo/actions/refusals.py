"""What is submitted although the network will refuse it: people make mistakes, but not often."""

from collections.abc import Sequence
from typing import Any

from mirror.demo.network import Network

_STUBBORN = 0.15  # how often something is submitted although it will be refused

Refused = tuple[str, dict[str, Any], str]  # kind of body, its fields, result code


def refuses(network: Network, refusal: str | None) -> bool:
    """Whether somebody rather gives up than to submit what will be refused."""
    return refusal is not None and network.choose.random() >= _STUBBORN


def submit_one(network: Network, refused: Sequence[Refused], *, payer: int) -> bool:
    """Submit one of these, which fails; gives False when there are none."""
    if not refused:
        return False
    kind, body, result = network.choose.choice(refused)
    network.submit(kind, body, payer=payer, result=result)
    return True
