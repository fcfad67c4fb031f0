"""The kinds of tokens that people issue, with their names."""

from base64 import b32encode
from dataclasses import dataclass
from json import dumps
from random import Random

# Attribute of Token -> field of the transaction bodies.
KEY_FIELDS = {
    "admin_key": "adminKey",
    "fee_schedule_key": "fee_schedule_key",
    "freeze_key": "freezeKey",
    "kyc_key": "kycKey",
    "metadata_key": "metadata_key",
    "pause_key": "pause_key",
    "supply_key": "supplyKey",
    "wipe_key": "wipeKey",
}


@dataclass(frozen=True, slots=True)
class Recipe:
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
_CURRENCY = Recipe(
    names=_names("Harbour Dollar HBD, Alpine Franc ALPF, Island Crown ISLC, Euro Link EURL"),
    memo="Redeemable at par",
    keys=("admin_key", "supply_key", "wipe_key"),
    decimals=2,
    is_currency=True,
)
_ART = Recipe(
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
_SHARES = Recipe(
    names=_names("Windpark Shares WIND, Orchard Bond 2030 ORCH, Old Mill Equity MILL, Solar Roof Fund SOLR"),
    memo="For holders known to the issuer",
    keys=tuple(KEY_FIELDS),
    decimals=4,
    finite=True,
    fees=("fixed_hbar",),
)
_POINTS = Recipe(
    names=_names(
        "Bakery Points BAKE, Cinema Stars STAR, Market Miles MILE, Bookworm Credits BOOK, Garden Seeds SEED"
    ),
    memo="Collect and spend",
    keys=("admin_key", "fee_schedule_key", "supply_key", "freeze_key"),
    fees=("fractional", "fixed_own"),
)
_TICKETS = Recipe(
    names=_names(
        "Theatre Tickets SEAT, Jazz Night JAZZ, Harbour Festival FEST, Museum Pass MUSE, Football Season GOAL"
    ),
    memo="Admits one",
    keys=("admin_key", "fee_schedule_key", "freeze_key", "kyc_key", "pause_key", "supply_key", "wipe_key"),
    fungible=False,
    fees=("fixed_hbar", "royalty"),
)
_COIN = Recipe(
    names=_names("Lantern LTRN, Pebble PEBL, Comet CMET, Juniper JUNI, Otter OTTR"),
    memo="",
    keys=(),
    decimals=8,
    finite=True,
)
_GAME = Recipe(
    names=_names("Dragon Gold DRGN, Arcade Gems GEMS, Star Fuel FUEL, Castle Wood WOOD"),
    memo="Play money",
    # In this order they are made.
    keys=(*_MANAGED, "fee_schedule_key", "metadata_key"),
    freeze_default=True,
    fees=("fractional_net", "fixed_currency"),
)
_CLUB = Recipe(
    names=_names("Rowing Club ROW, Chess Circle CHSS, Choir Members SING, Beekeepers BEE, Night Hikers HIKE"),
    memo="Membership",
    keys=("supply_key", "metadata_key"),
    fungible=False,
)

# The first tokens are of these kinds, in this order.
RECIPES = (_CURRENCY, _ART, _SHARES, _CLUB, _POINTS, _TICKETS, _COIN, _GAME)


def name(recipe: Recipe, place: int) -> tuple[str, str]:
    """Return the name and symbol of the next token; when the names are used up, they get numbers."""
    times, index = divmod(place, len(recipe.names))
    called, symbol = recipe.names[index]
    return (f"{called} {times + 1}", f"{symbol}{times + 1}") if times else (called, symbol)


def content_address(choose: Random) -> str:
    """Return an IPFS address, at which there is nothing."""
    return "ipfs://bafkrei" + b32encode(choose.randbytes(32)).decode().lower().rstrip("=")


def serial_metadata(choose: Random, collection: str, serial: int) -> bytes:
    """Return the metadata of a serial: an address, or a small document."""
    if choose.random() < 0.7:
        return f"{content_address(choose)}/{serial}.json".encode()
    return dumps({"name": f"{collection} #{serial}", "edition": serial}).encode()
