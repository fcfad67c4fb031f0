"""Who takes part when tokens are issued, moved and allowed, and which tokens can be used for what."""

from collections.abc import Callable, Iterable

from mirror.demo.network import Network
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import Token

_AT_LEAST = 20 * HBAR
_ATTEMPTS = 6


def able(network: Network, number: int) -> bool:
    """Whether an account can pay for a transaction."""
    return network.can_pay(number, _AT_LEAST)


def trader(network: Network, *, other_than: Iterable[int] = ()) -> int | None:
    """Somebody who may have tokens and can pay; None when none is found soon."""
    left_out = set(other_than)
    for _ in range(_ATTEMPTS):
        found = network.person(at_least=_AT_LEAST, settled=True)
        if found and found.number not in left_out:
            return found.number
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
