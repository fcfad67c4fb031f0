"""The custom fees that people choose for their tokens (HIP-18)."""

from mirror.demo.network import Network
from mirror.demo.tokens import traders
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, RoyaltyFee, Token

_SHARE_OF_OTHERS = 0.4  # share of fees that another account than the treasury collects


def choose(network: Network, token: Token, kinds: tuple[str, ...]) -> tuple[CustomFee, ...]:
    """Return fees of these kinds; fewer if there is no collector or no currency for one."""
    fees = [_fee(network, token, kind) for kind in kinds]
    return tuple(fee for fee in fees if fee is not None)


def kinds_of(token: Token) -> tuple[str, ...]:
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


def _fee(network: Network, token: Token, kind: str) -> CustomFee | None:
    random = network.choose
    match kind:
        case "fixed_hbar":
            amount = random.randrange(5, 200) * HBAR // 100
            return FixedFee(amount, _hbar_collector(network, token))
        case "fixed_own":
            return FixedFee(random.randrange(1, 4), _own_collector(network, token), token.number)
        case "fixed_currency":
            currency = traders.find_token(network, lambda other: other.is_currency and other is not token)
            if currency is None:
                return None
            collector = traders.find_one_of(network, currency.relationships)
            amount = random.randrange(1, 100)
            return FixedFee(amount, collector, currency.number) if collector else None
        case "fractional":
            collector, exempt = _own_collector(network, token), random.random() < 0.5
            numerator = random.choice((1, 2, 5))
            return FractionalFee(numerator, 100, collector, 1, all_collectors_are_exempt=exempt)
        case "fractional_net":
            collector, maximum = _own_collector(network, token), random.choice((0, 500, 10_000))
            numerator = random.choice((1, 3))
            return FractionalFee(numerator, 200, collector, maximum=maximum, net_of_transfers=True)
        case "royalty":
            return RoyaltyFee(random.choice((2, 5, 10)), 100, _hbar_collector(network, token))
    collector = _hbar_collector(network, token)
    fallback = FixedFee(random.randrange(1, 10) * HBAR, collector)
    return RoyaltyFee(random.choice((3, 5, 8)), 100, collector, fallback)
