"""What operations of system contracts cost: canonical prices in dollars, and the gas they are worth.

A price in US dollars becomes gas by the price of a unit of gas that the fee schedule states; a fifth is added
for the contract. What the network charges beyond the canonical price, by the size of an operation, is left
out.
"""

from dataclasses import dataclass
from functools import cached_property

from ledger.queries.fee_schedules import SCHEDULE_UNITS_PER_TINYCENT

#: Tinycents of a US dollar.
DOLLAR = 10_000_000_000
_LAZY_CREATION = DOLLAR // 20


@dataclass(frozen=True)
class Prices:
    """`scheduled` is the price of gas in thousandths of a tinycent; `cents` are worth as much as `hbars`."""

    scheduled: int
    cents: int
    hbars: int

    @cached_property
    def gas(self) -> int:
        """The tinybars of a unit of gas, at least one."""
        return max(self.scheduled * self.hbars // (self.cents * SCHEDULE_UNITS_PER_TINYCENT), 1)

    def gas_of(self, tinycents: int) -> int:
        """The gas of an operation with a canonical price, also where gas itself is free."""
        scheduled = self.scheduled if self.scheduled > 0 else WITHOUT_FILES.scheduled
        gas = (tinycents + scheduled - 1) * SCHEDULE_UNITS_PER_TINYCENT // scheduled
        return gas + gas // 5

    @cached_property
    def gas_of_view(self) -> int:
        return WITHOUT_FILES.gas_of(VIEW)

    @cached_property
    def creation_gas(self) -> int:
        """The gas of an account that value is sent to: a fee in tinybars, by the price of gas."""
        return self.tinybars(_LAZY_CREATION) // self.gas

    def tinybars(self, tinycents: int) -> int:
        return tinycents * self.hbars // self.cents

    def tinycents(self, tinybars: int) -> int:
        return tinybars * self.cents // self.hbars


#: Where the files are missing: 852 tinycents, at 12 cents for an hbar.
WITHOUT_FILES = Prices(852_000, 12, 1)

# CANONICAL PRICES, in tinycents

VIEW = DOLLAR // 10_000
ASSOCIATE = APPROVE = DOLLAR // 20
#: Of most operations on a token: KYC, freeze, pause, delete, update, mint of units, burn, wipe.
TOKEN_OPERATION = DOLLAR // 1_000
PSEUDORANDOM = DOLLAR // 1_000
UPDATE_ACCOUNT = DOLLAR * 22 // 100_000
#: Of each serial.
MINT_NFT = DOLLAR // 50
#: Of a schedule, by what it holds.
SCHEDULE_CREATE, SCHEDULE_CREATE_CALL = DOLLAR // 100, DOLLAR // 10
SCHEDULE_SIGN, SCHEDULE_DELETE = DOLLAR // 100, DOLLAR // 200
TOKEN_CREATE, TOKEN_CREATE_WITH_FEES = DOLLAR, 2 * DOLLAR
#: Of each account whose hbar or units change, of each serial, and of a created account.
TRANSFER_HBAR, TRANSFER_FUNGIBLE, TRANSFER_NFT = DOLLAR // 20_000, DOLLAR // 2_000, DOLLAR // 1_000
CREATE_ACCOUNT = DOLLAR * 5_022 // 100_000
AIRDROP = DOLLAR // 10
