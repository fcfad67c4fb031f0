"""The custom fees that people choose for their tokens (HIP-18)."""

from collections.abc import Callable, Mapping

from mirror.demo.network import Network
from mirror.demo.tokens import traders
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, RoyaltyFee, Token

_SHARE_OF_OTHERS = 0.4  # share of fees that another account than the treasury collects


def choose(network: Network, token: Token, kinds: tuple[str, ...]) -> tuple[CustomFee, ...]:
    """Return fees of these kinds; fewer if there is no collector or no currency for one."""
    fees = (_KINDS[kind](network, token) for kind in kinds)
    return tuple(fee for fee in fees if fee is not None)


def kinds_of(token: Token) -> tuple[str, ...]:
    """Return the kinds of fees that a token may have."""
    if token.fungible:
        return ("fixed_hbar", "fixed_own", "fixed_currency", "fractional", "fractional_net")
    return ("fixed_hbar", "fixed_currency", "royalty", "royalty_with_fallback")


def own_collectors(token: Token) -> list[int]:
    """Return the collectors of fees in the token itself."""
    return [
        fee.collector
        for fee in token.fees
        if isinstance(fee, FractionalFee)
        or (isinstance(fee, FixedFee) and fee.denominating_token == token.number)
    ]


def _hbar_collector(network: Network, token: Token) -> int:
    if network.choose.random() < _SHARE_OF_OTHERS:
        return traders.find_trader(network) or token.treasury
    return token.treasury


def _own_collector(network: Network, token: Token) -> int:
    """Return a collector of fees in the token itself, who is associated with it or will be."""
    if network.choose.random() >= _SHARE_OF_OTHERS:
        return token.treasury
    if not token.relationships:
        return traders.find_trader(network) or token.treasury
    allowed = [number for number in token.relationships if token.refusal(number) is None]
    return traders.find_one_of(network, allowed) or token.treasury


def _fixed_hbar(network: Network, token: Token) -> CustomFee:
    amount = network.choose.randrange(5, 200) * HBAR // 100
    return FixedFee(amount, _hbar_collector(network, token))


def _fixed_own(network: Network, token: Token) -> CustomFee:
    amount = network.choose.randrange(1, 4)
    return FixedFee(amount, _own_collector(network, token), token.number)


def _fixed_currency(network: Network, token: Token) -> CustomFee | None:
    currency = traders.find_token(network, lambda other: other.is_currency and other is not token)
    if currency is None:
        return None
    collector = traders.find_one_of(network, currency.relationships)
    amount = network.choose.randrange(1, 100)
    return FixedFee(amount, collector, currency.number) if collector else None


def _fractional(network: Network, token: Token) -> CustomFee:
    collector = _own_collector(network, token)
    exempt = network.choose.random() < 0.5
    return FractionalFee(
        network.choose.choice((1, 2, 5)), 100, collector, minimum=1, all_collectors_are_exempt=exempt
    )


def _fractional_net(network: Network, token: Token) -> CustomFee:
    collector, maximum = _own_collector(network, token), network.choose.choice((0, 500, 10_000))
    return FractionalFee(
        network.choose.choice((1, 3)), 200, collector, maximum=maximum, net_of_transfers=True
    )


def _royalty(network: Network, token: Token) -> CustomFee:
    return RoyaltyFee(network.choose.choice((2, 5, 10)), 100, _hbar_collector(network, token))


def _royalty_with_fallback(network: Network, token: Token) -> CustomFee:
    collector = _hbar_collector(network, token)
    fallback = FixedFee(network.choose.randrange(1, 10) * HBAR, collector)
    return RoyaltyFee(network.choose.choice((3, 5, 8)), 100, collector, fallback)


_KINDS: Mapping[str, Callable[[Network, Token], CustomFee | None]] = {
    "fixed_hbar": _fixed_hbar,
    "fixed_own": _fixed_own,
    "fixed_currency": _fixed_currency,
    "fractional": _fractional,
    "fractional_net": _fractional_net,
    "royalty": _royalty,
    "royalty_with_fallback": _royalty_with_fallback,
}
