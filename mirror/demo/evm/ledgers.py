"""The state before a transaction, as the EVM reads it: the world, or the storage of one hook."""

from collections.abc import Iterable

from mirror.core.values import entity_id
from mirror.demo.evm.state import Ledger
from mirror.demo.streams.record_files import FEE_COLLECTOR
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Contract, Hook
from mirror.demo.world.tokens import Token
from mirror.demo.world.world import World
from web3sim.engine.interface import AccountKind
from web3sim.state.proxies import proxy_code

# The system contract as which hooks run.
HOOK_CONTRACT = 365
HOOK_ADDRESS = entity_id.long_zero(HOOK_CONTRACT)


class WorldLedger(Ledger):
    """The world as the EVM sees it. It knows the accounts `around`, which are all that are sent money."""

    def __init__(self, world: World, around: Iterable[Account]) -> None:
        self._world = world
        self._accounts = {account.address: account for account in around}
        # The fees of system contracts have this collector, also where transactions have another one.
        if collector := world.accounts.get(FEE_COLLECTOR):
            self._accounts[collector.address] = collector

    def account(self, address: bytes) -> Account | None:
        """Return the account or contract at an address."""
        account = self._accounts.get(address)
        if account is None:
            number = self._world.contracts.by_address.get(address)
            account = self._world.accounts[number] if number is not None else None
        return account

    def number_at(self, address: bytes) -> int | None:
        """Return the number of the account or contract at an address."""
        account = self.account(address)
        return account.number if account else None

    def balance(self, address: bytes) -> int:
        account = self.account(address)
        return account.balance if account else 0

    def nonce(self, address: bytes) -> int:
        account = self.account(address)
        return account.nonce if account else 0

    def code(self, address: bytes) -> bytes:
        if self._token(address) is not None:
            return proxy_code(AccountKind.TOKEN, address)
        contract = self._contract(address)
        return contract.code if contract else b""

    def slot(self, address: bytes, slot: int) -> int:
        contract = self._contract(address)
        stored = contract.slots.get(slot) if contract else None
        return stored.value if stored else 0

    def units(self, token: bytes, holder: bytes) -> int:
        issued, account = self._token(token), self.account(holder)
        return issued.balance(account.number) if issued and account else 0

    def is_associated(self, token: bytes, holder: bytes) -> bool:
        """Return whether an account is associated with a token; people are looked for among all accounts."""
        issued, account = self._token(token), self._world.account_at(holder)
        return issued is not None and account is not None and account.number in issued.relationships

    def _token(self, address: bytes) -> Token | None:
        return self._world.tokens.issued.get(entity_id.num_of_long_zero(address) or 0)

    def _contract(self, address: bytes) -> Contract | None:
        contracts = self._world.contracts
        return contracts.deployed.get(contracts.by_address.get(address, 0))


class HookLedger(Ledger):
    """The storage and code of a hook, at the address of the system contract that runs hooks."""

    def __init__(self, hook: Hook, code: bytes) -> None:
        self._hook, self._code = hook, code

    def code(self, address: bytes) -> bytes:
        return self._code if address == HOOK_ADDRESS else b""

    def slot(self, address: bytes, slot: int) -> int:
        stored = self._hook.slots.get(slot.to_bytes(32, "big"))
        return int.from_bytes(stored.value, "big") if stored and address == HOOK_ADDRESS else 0
