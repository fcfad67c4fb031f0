"""A call, and the transaction that does the same."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.tokens.compose import TokenStream
from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.ingested.numbers import HOLDER
from web3sim.state.proxy_code import TOKEN_SERVICE

Happening = Callable[[TokenStream], Any]

NOBODY = bytes(20)
A, T = long_zero, long_zero


class Case(NamedTuple):
    """`prepare` happens before both. With a `target` that is called, a token or what `service` has."""

    signature: str
    arguments: tuple[Any, ...]
    transaction: Happening
    prepare: Happening | None = None
    target: int | None = None
    sender: int = HOLDER
    service: bytes = TOKEN_SERVICE
    #: What comes with the call, in tinybars.
    value: int = 0


def happens(kind: str, *moved: Any, **body: Any) -> Happening:
    """A transaction with a body of this kind, whose record has the transfer lists `moved`."""
    of_transaction = ("receipt", "record", "transfers", "payer", "associated", "signatures")
    options = {"payer": HOLDER} | {name: body.pop(name) for name in of_transaction if name in body}
    return lambda made: made.happen(kind, body, *moved, **options)


def both(*steps: Happening) -> Happening:
    return lambda made: [step(made) for step in steps]
