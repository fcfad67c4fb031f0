"""The kinds of tokens that people issue, with their names and their custom fees (HIP-18)."""

from base64 import b32encode
from dataclasses import dataclass
from json import dumps
from random import Random

from mirror.demo.actions.tokens import traders
from mirror.demo.network import Network
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.messages import KEY_FIELDS
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, RoyaltyFee, Token

_SHARE_OF_OTHERS = 0.4  # share of fees that another account than the treasury collects


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """A kind of token: the `keys` that its issuer has, and the kinds of `fees` that it begins with."""

    names: tuple[tuple[str, str], ...]
    memo: str
    keys: tuple[str, ...]
    fungible: bool = True
    finite: bool = False
    decimals: int = 0
    freeze_default: bool = False
    fees: tuple[str, ...] = ()
    is_currency: bool = False


def _names(names: str) -> tuple[tuple[str, str], ...]:
    """Split the names of tokens, each with its symbol at the end."""
    return tuple((name, symbol) for name, _, symbol in (each.rpartition(" ") for each in names.split(", ")))


_MANAGED = ("admin_key", "freeze_key", "pause_key", "supply_key", "wipe_key")
_CURRENCY = TokenSpec(
    names=_names("Harbour Dollar HBD, Alpine Franc ALPF, Island Crown ISLC, Euro Link EURL"),
    memo="Redeemable at par",
    keys=("admin_key", "supply_key", "wipe_key"),
    decimals=2,
    is_currency=True,
)
_ART = TokenSpec(
    names=_names(
        "Tidal Forms TIDE, Paper Birds PAPB, Quiet Cities QCTY, Lichen Studies LICH, "
        "Neon Harbours NEON, Clay Masks CLAY"
    ),
    memo="A limited edition",
    keys=("admin_key", "fee_schedule_key", "metadata_key", "pause_key", "supply_key", "wipe_key"),
    fungible=False,
    finite=True,
    fees=("royalty_with_fallback",),
)
_SHARES = TokenSpec(
    names=_names("Windpark Shares WIND, Orchard Bond 2030 ORCH, Old Mill Equity MILL, Solar Roof Fund SOLR"),
    memo="For holders known to the issuer",
    keys=tuple(KEY_FIELDS),
    decimals=4,
    finite=True,
    fees=("fixed_hbar",),
)
_POINTS = TokenSpec(
    names=_names(
        "Bakery Points BAKE, Cinema Stars STAR, Market Miles MILE, Bookworm Credits BOOK, Garden Seeds SEED"
    ),
    memo="Collect and spend",
    keys=("admin_key", "fee_schedule_key", "supply_key", "freeze_key"),
    fees=("fractional", "fixed_own"),
)
_TICKETS = TokenSpec(
    names=_names(
        "Theatre Tickets SEAT, Jazz Night JAZZ, Harbour Festival FEST, Museum Pass MUSE, Football Season GOAL"
    ),
    memo="Admits one",
    keys=("admin_key", "fee_schedule_key", "freeze_key", "kyc_key", "pause_key", "supply_key", "wipe_key"),
    fungible=False,
    fees=("fixed_hbar", "royalty"),
)
_COIN = TokenSpec(
    names=_names("Lantern LTRN, Pebble PEBL, Comet CMET, Juniper JUNI, Otter OTTR"),
    memo="",
    keys=(),
    decimals=8,
    finite=True,
)
_GAME = TokenSpec(
    names=_names("Dragon Gold DRGN, Arcade Gems GEMS, Star Fuel FUEL, Castle Wood WOOD"),
    memo="Play money",
    # In this order they are made.
    keys=(*_MANAGED, "fee_schedule_key", "metadata_key"),
    freeze_default=True,
    fees=("fractional_net", "fixed_currency"),
)
_CLUB = TokenSpec(
    names=_names("Rowing Club ROW, Chess Circle CHSS, Choir Members SING, Beekeepers BEE, Night Hikers HIKE"),
    memo="Membership",
    keys=("supply_key", "metadata_key"),
    fungible=False,
)

# The first tokens are of these kinds, in this order.
SPECS = (_CURRENCY, _ART, _SHARES, _CLUB, _POINTS, _TICKETS, _COIN, _GAME)


def name(spec: TokenSpec, number: int) -> tuple[str, str]:
    """Return the name and symbol of the next token; when the names are used up, they get numbers."""
    times, index = divmod(number, len(spec.names))
    called, symbol = spec.names[index]
    return (f"{called} {times + 1}", f"{symbol}{times + 1}") if times else (called, symbol)


def content_address(choose: Random) -> str:
    """Return an IPFS address, at which there is nothing."""
    return "ipfs://bafkrei" + b32encode(choose.randbytes(32)).decode().lower().rstrip("=")


def serial_metadata(choose: Random, collection: str, serial: int) -> bytes:
    """Return the metadata of a serial: an address, or a small document."""
    if choose.random() < 0.7:
        return f"{content_address(choose)}/{serial}.json".encode()
    return dumps({"name": f"{collection} #{serial}", "edition": serial}).encode()


# FEES
def chosen_fees(network: Network, token: Token, kinds: tuple[str, ...]) -> tuple[CustomFee, ...]:
    """Return fees of these kinds; fewer if there is no collector or no currency for one."""
    fees = [_fee(network, token, kind) for kind in kinds]
    return tuple(fee for fee in fees if fee is not None)


def kinds_of_fees(token: Token) -> tuple[str, ...]:
    if token.fungible:
        return ("fixed_hbar", "fixed_own", "fixed_currency", "fractional", "fractional_net")
    return ("fixed_hbar", "fixed_currency", "royalty", "royalty_with_fallback")


def own_collectors(token: Token) -> list[int]:
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
    allowed = [number for number in token.relationships if token.failure(number) is None]
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
