"""Transactions that the network refuses: people make mistakes, but not often."""

from collections.abc import Sequence
from typing import Any

from mirror.demo.network import Network, NotPossible

_SUBMITTED = 0.15  # share of what would be refused that is submitted nevertheless

Refused = tuple[str, dict[str, Any], str]  # kind of body, its fields, result code


def give_up_if(network: Network, refusal: str | None) -> None:
    """Mostly give up what would fail with the result code `refusal`. Errors: NotPossible."""
    if refusal is not None and network.choose.random() >= _SUBMITTED:
        raise NotPossible


def submit_one(network: Network, refused: Sequence[Refused], *, payer: int) -> None:
    """Submit one of these transactions, which fails. Errors: NotPossible if there are none."""
    if not refused:
        raise NotPossible
    kind, body, result = network.choose.choice(refused)
    network.submit(kind, body, payer=payer, result=result)
