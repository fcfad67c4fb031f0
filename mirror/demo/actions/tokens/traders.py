"""People who hold tokens, and the tokens they can use. Errors of each function: NotPossible."""

from collections.abc import Callable, Iterable

from mirror.demo.network import Network, required
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import Token

_AT_LEAST = 20 * HBAR
_ATTEMPTS = 6


def can_pay(network: Network, number: int) -> bool:
    """Return whether an account can pay for a transaction."""
    return network.can_pay(number, _AT_LEAST)


def find_trader(network: Network, *, other_than: Iterable[int] = ()) -> int | None:
    """Return an account that may hold tokens and can pay; None if a few tries find none."""
    left_out = set(other_than)
    for _ in range(_ATTEMPTS):
        person = network.find_person(at_least=_AT_LEAST, settled=True)
        if person and person.number not in left_out:
            return person.number
    return None


def trader(network: Network, *, other_than: Iterable[int] = ()) -> int:
    return required(find_trader(network, other_than=other_than))


def find_one_of(network: Network, numbers: Iterable[int]) -> int | None:
    """Return one of the accounts that can pay; None if there is none."""
    able_numbers = [number for number in numbers if can_pay(network, number)]
    return network.find(able_numbers)


def one_of(network: Network, numbers: Iterable[int]) -> int:
    return required(find_one_of(network, numbers))


def find_token(network: Network, fits: Callable[[Token], object] = bool) -> Token | None:
    """Return a token that fits, is not deleted and whose treasury can pay; None if there is none."""
    tokens = [
        token for token in network.world.tokens.living() if fits(token) and can_pay(network, token.treasury)
    ]
    return network.find(tokens)


def token(network: Network, fits: Callable[[Token], object] = bool) -> Token:
    return required(find_token(network, fits))


def holder(network: Network, held: Token, *, other_than: Iterable[int] = ()) -> int:
    left_out = set(other_than)
    return one_of(network, (number for number in held.holders() if number not in left_out))
