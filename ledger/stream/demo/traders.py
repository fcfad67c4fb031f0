"""Who takes part when tokens are issued, moved and allowed, and which tokens can be used for what."""

from collections.abc import Callable, Iterable

from ledger.stream.demo.network import HBAR, Network
from ledger.stream.demo.tokens import Token

_AT_LEAST = 20 * HBAR
_ATTEMPTS = 6
_NOT_INTERESTED = 5  # one in so many never has tokens, so may close the account


def able(network: Network, number: int) -> bool:
    """Whether an account can pay for a transaction."""
    account = network.world.accounts[number]
    return not account.deleted and account.balance >= _AT_LEAST


def trader(network: Network, *, other_than: Iterable[int] = ()) -> int | None:
    """Somebody who is interested in tokens and can pay; None when none is found soon."""
    left_out = set(other_than)
    for _ in range(_ATTEMPTS):
        number = network.choose.choice(network.world.people)
        if number % _NOT_INTERESTED and number not in left_out and able(network, number):
            return number
    return None


def one_of(network: Network, numbers: Iterable[int]) -> int | None:
    """One of the accounts that can pay; None when there is none."""
    found = [number for number in numbers if able(network, number)]
    return network.choose.choice(found) if found else None


def token(network: Network, fits: Callable[[Token], object] = bool) -> Token | None:
    """A token that is not deleted and whose treasury can pay; None when none fits."""
    found = [one for one in network.world.tokens.living() if fits(one) and able(network, one.treasury)]
    return network.choose.choice(found) if found else None


def holder(network: Network, held: Token, *, other_than: Iterable[int] = ()) -> int | None:
    """Somebody with some of a token who can pay; None when there is nobody."""
    left_out = set(other_than)
    return one_of(network, (number for number in held.holders() if number not in left_out))
