"""Tokens of the simulated network: all uses happen, and all that is held adds up."""

from collections import Counter
from collections.abc import Iterator

import pytest

from mirror.core.values.hapi.result_codes import NUMBERS
from mirror.demo.actions import allowances, crypto, genesis
from mirror.demo.actions.tokens import changes, supply, transfers
from mirror.demo.network import Network
from mirror.demo.streams.record_files import Block
from mirror.demo.world.world import World

ACTIONS = (
    *(*crypto.ACTIONS, *supply.ISSUING, *changes.ACTIONS, *supply.ACTIONS, *changes.RELATIONSHIPS),
    *(*transfers.ACTIONS, *allowances.ACTIONS, *transfers.AIRDROPS),
)
TYPES = {
    "tokenCreation",
    "tokenUpdate",
    "tokenDeletion",
    "tokenMint",
    "tokenBurn",
    "tokenWipe",
    "tokenAssociate",
    "tokenDissociate",
    "tokenFreeze",
    "tokenUnfreeze",
    "tokenGrantKyc",
    "tokenRevokeKyc",
    "token_pause",
    "token_unpause",
    "token_fee_schedule_update",
    "token_update_nfts",
    "tokenReject",
    "tokenAirdrop",
    "tokenClaimAirdrop",
    "tokenCancelAirdrop",
    "cryptoApproveAllowance",
    "cryptoDeleteAllowance",
}
SUCCESS = NUMBERS["SUCCESS"]


def play(seed: int, blocks: int, transactions: int) -> Iterator[tuple[Network, Block]]:
    """A network of these actions alone, block by block; hbars are moved less than usual."""
    actions = [action for action in ACTIONS if action.perform is not crypto.pay]
    network = Network(seed, actions)
    genesis.begin(network)
    for _ in range(blocks):
        network.act(transactions)
        yield network, network.close()


def adds_up(world: World) -> None:
    """No unit comes from nowhere, and serials are counted by balances."""
    for token in world.tokens.issued.values():
        held = token.relationships.values()
        assert all(relationship.balance >= 0 for relationship in held)
        assert token.supply == sum(relationship.balance for relationship in held)
        assert not token.finite or token.supply <= token.max_supply
        if not token.fungible:
            owned = Counter(serial.owner for serial in token.serials.values() if serial.owner)
            assert owned == {of: held.balance for of, held in token.relationships.items() if held.balance}
        assert not any(world.accounts[of].deleted for of in token.relationships)
    assert all(account.balance >= 0 for account in world.accounts.values())


@pytest.mark.parametrize("seed", range(2))
def test_every_use_of_tokens_happens_in_a_long_run(seed: int) -> None:
    successful, failed = Counter[str](), Counter[str]()
    for network, block in play(seed, 20, 100):
        adds_up(network.world)
        for composed in block.transactions:
            kind = composed.body.WhichOneof("data")
            (successful if composed.record.receipt.status == SUCCESS else failed)[kind] += 1
    assert set(successful) >= TYPES
    assert len(set(failed) & TYPES) > 5


def test_fees_of_every_kind_and_uses_of_every_allowance_happen() -> None:
    kinds = Counter[str]()
    for network, block in play(3, 20, 100):
        issued = network.world.tokens.issued
        for composed in block.transactions:
            body, record = composed.body.cryptoTransfer, composed.record
            for fee in record.assessed_custom_fees:
                kinds["in a token" if fee.HasField("token_id") else "in hbars"] += 1
            if record.receipt.status == SUCCESS:
                kinds["hbars by allowance"] += any(each.is_approval for each in body.transfers.accountAmounts)
                for moved in body.tokenTransfers:
                    kinds["units by allowance"] += any(each.is_approval for each in moved.transfers)
                    kinds["serials by allowance"] += any(each.is_approval for each in moved.nftTransfers)
            kinds["automatic associations"] += len(record.automatic_token_associations)
        kinds["delegated"] += any(s.delegating_spender for t in issued.values() for s in t.serials.values())
    assert all(kinds.values()) and len(kinds) == 7, kinds
