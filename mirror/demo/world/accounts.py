"""Accounts of the simulated network."""

from dataclasses import dataclass

from mirror.core.values import entity_id

HBAR = 100_000_000  # tinybars
SYSTEM_ADMIN, FREEZE_ADMIN = 50, 58
NO_DELEGATION = bytes(20)  # what a transaction says to end one
AUTO_RENEW_PERIOD = 7_776_000  # seconds, 90 days: the period of most entities


@dataclass(slots=True)
class Account:
    """An account, or the account side of a contract. `key` is a serialized Key, None when there is none.

    The owner of a `passing` account takes on nothing that would prevent its closing.
    """

    number: int
    created: int
    balance: int = 0
    balance_timestamp: int = 0  # of the last transfer, even of 0
    memo: str = ""
    key: bytes | None = None
    alias: bytes | None = None
    evm_address: bytes | None = None
    nonce: int = 0
    deleted: bool = False
    is_contract: bool = False
    passing: bool = False
    receiver_signature_required: bool = False
    max_automatic_token_associations: int = 0
    auto_renew_period: int | None = None  # seconds
    expiration: int | None = None
    staked_account_id: int | None = None
    staked_node_id: int | None = None
    decline_reward: bool = False
    stake_period_start: int | None = None  # epoch day
    delegation: bytes | None = None  # whose code runs at its address

    @property
    def address(self) -> bytes:
        """Return the EVM address: that of its alias, else the long-zero form."""
        return self.evm_address or entity_id.long_zero(self.number)
