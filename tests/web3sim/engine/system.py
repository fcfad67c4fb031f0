"""A stand-in for the system contracts of a network."""

from tests.web3sim.engine.world import RETURN_TOP, code, long_zero
from web3sim.engine.interface import AccountKind, Address, Journal, SystemAnswer, SystemCall

TOKEN_SERVICE = long_zero(0x167)
TAKES_VALUE = b"take"


class System:
    """A system contract that answers everything the same way, and remembers its calls."""

    creation_gas = 50_000

    def __init__(self, answer: SystemAnswer | Exception, address: bytes = TOKEN_SERVICE) -> None:
        self.answer, self.address = answer, address
        self.calls: list[SystemCall] = []
        self.tied: set[bytes] = set()
        self.created: list[tuple[Address, AccountKind]] = []

    def is_system_contract(self, address: Address) -> bool:
        return address == self.address

    def proxied(self, address: Address) -> AccountKind | None:
        return AccountKind.TOKEN if address == TOKEN_SERVICE else None

    def accepts_value(self, address: Address, selector: bytes) -> bool:
        return selector == TAKES_VALUE

    def account_code(self, address: Address, data: bytes) -> bytes:
        """Every account has a proxy for one function, which answers 7."""
        return code(7, *RETURN_TOP) if data[:4] == b"\x86\xaf\xf0\x7c" else b""

    def tied_to_tokens(self, address: Address, journal: Journal, *, only_as_treasury: bool = False) -> bool:
        return address in self.tied and not only_as_treasury

    def add_created(self, address: Address, kind: AccountKind, journal: Journal) -> None:
        self.created.append((address, kind))

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        self.calls.append(call)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer
