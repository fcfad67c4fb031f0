"""The loaded tables hold the tokens of the simulated network."""

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from mirror.core.values.hapi.result_codes import NUMBERS
from mirror.demo.actions.accounts import allowances, crypto
from mirror.demo.actions.network import genesis
from mirror.demo.actions.tokens import changes, relationships, supply, transfers
from mirror.demo.network import Network
from mirror.demo.streams.record_files import Block
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, RoyaltyFee, Token
from mirror.demo.world.world import World
from tests.ledger.ingest.load import load, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.mirror.demo.lives import rows

ACTIONS = (
    *(*crypto.ACTIONS, *supply.ISSUING, *changes.ACTIONS, *supply.ACTIONS, *relationships.ACTIONS),
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
# How many random runs are compared with the tables; many take minutes.
SEEDS = int(os.environ.get("MIRROR_TEST_DEMO_SEEDS", "3"))
NO_KEY = b"2\0"  # an empty KeyList, which removes a key
SUCCESS = NUMBERS["SUCCESS"]


def play(seed: int, blocks: int, transactions: int) -> Iterator[tuple[Network, Block]]:
    """A network of these actions alone, block by block; hbars are moved less than usual."""
    actions = [action for action in ACTIONS if action.perform is not crypto.pay]
    network = Network(seed, actions)
    genesis.begin(network)
    for _ in range(blocks):
        network.act(transactions)
        yield network, network.close()


# THE TABLES AND THE WORLD
def matches(world: World) -> None:
    """Tokens and all that is known of them are stored as they are."""
    _tokens_match(world.tokens.issued)
    _fees_match(world.tokens.issued)
    _relationships_match(world.tokens.issued)
    _serials_match(world.tokens.issued)
    _allowances_match(world)
    columns = (
        "sender_account_id, receiver_account_id, token_id, serial_number, amount, state, timestamp_range"
    )
    assert {row[:4]: row[4:] for row in stored("token_airdrop", columns)} == {
        key: (airdrop.amount, airdrop.state, f"[{airdrop.since},)")
        for key, airdrop in world.tokens.airdrops.items()
    }


def _tokens_match(issued: dict[int, Token]) -> None:
    keys = "fee_schedule_key freeze_key kyc_key metadata_key pause_key supply_key wipe_key"
    columns = """token_id, name, symbol, type, decimals, treasury_account_id, initial_supply, total_supply,
        supply_type, max_supply, metadata, freeze_default, pause_status, created_timestamp"""
    assert {row[0]: row[1:] for row in stored("token", columns)} == {
        t.number: (
            t.name,
            t.symbol,
            "FUNGIBLE_COMMON" if t.fungible else "NON_FUNGIBLE_UNIQUE",
            t.decimals,
            t.treasury,
            t.initial_supply,
            t.supply,
            "FINITE" if t.finite else "INFINITE",
            t.max_supply,
            t.metadata,
            t.freeze_default,
            {None: "NOT_APPLICABLE", True: "PAUSED", False: "UNPAUSED"}[t.paused],
            t.created,
        )
        for t in issued.values()
    }
    of_tokens = stored("token", f"token_id, {keys.replace(' ', ', ')}")
    assert [(row[0], *keys_of(row[1:])) for row in of_tokens] == rows(issued.values(), f"number {keys}")
    columns = "id, key, memo, deleted, auto_renew_account_id, auto_renew_period, expiration_timestamp"
    entities = stored("entity", columns, "type = 'TOKEN'")
    fields = "number admin_key memo deleted auto_renew_account auto_renew_period expiration"
    assert [(row[0], *keys_of(row[1:2]), *row[2:]) for row in entities] == rows(issued.values(), fields)
    modified = """token t join entity e on e.id = t.token_id cross join lateral (
        select greatest(lower(t.timestamp_range), lower(e.timestamp_range)) as modified) m"""
    assert dict(stored(modified, "token_id, modified")) == {t.number: t.modified for t in issued.values()}


def keys_of(columns: tuple[bytes | None, ...]) -> tuple[bytes | None, ...]:
    return tuple(None if key == NO_KEY else key for key in columns)


def _fees_match(issued: dict[int, Token]) -> None:
    of_tokens = "entity_id in (select token_id from token)"
    columns = "entity_id, timestamp_range, fixed_fees, fractional_fees, royalty_fees"
    assert {row[0]: row[1:] for row in stored("custom_fee", columns, of_tokens)} == {
        t.number: (
            f"[{t.fees_since},)",
            *(
                [_fee_row(fee) for fee in t.fees if isinstance(fee, kind)] or None
                for kind in (FixedFee, FractionalFee, RoyaltyFee)
            ),
        )
        for t in issued.values()
    }


def _fee_row(fee: CustomFee) -> dict[str, object]:
    row: dict[str, object] = {
        "all_collectors_are_exempt": fee.all_collectors_are_exempt,
        "collector_account_id": fee.collector,
    }
    if isinstance(fee, FixedFee):
        return row | {"amount": fee.amount, "denominating_token_id": fee.denominating_token}
    row |= {"numerator": fee.numerator, "denominator": fee.denominator}
    if isinstance(fee, FractionalFee):
        return row | {
            "minimum_amount": fee.minimum,
            "maximum_amount": fee.maximum or None,
            "net_of_transfers": fee.net_of_transfers,
        }
    fallback = fee.fallback and {
        "amount": fee.fallback.amount,
        "denominating_token_id": fee.fallback.denominating_token,
    }
    return row | {"fallback_fee": fallback}


def _relationships_match(issued: dict[int, Token]) -> None:
    statuses = """token_account a join token t using (token_id) cross join lateral (
        select coalesce(a.freeze_status, t.freeze_status) as frozen,
            coalesce(a.kyc_status, t.kyc_status) as known) s"""
    columns = """token_id, account_id, automatic_association, balance, balance_timestamp, frozen, known"""
    found = {row[:2]: row[2:] for row in stored(statuses, columns, "associated")}
    assert found == {
        (t.number, of): (
            held.automatic,
            held.balance,
            held.balance_timestamp,
            {None: 0, True: 1, False: 2}[held.frozen],
            {None: 0, True: 1, False: 2}[held.kyc_granted],
        )
        for t in issued.values()
        for of, held in t.relationships.items()
    }
    created = stored("token_account", "token_id, account_id, created_timestamp", "associated")
    assert {row[:2]: row[2] for row in created} == {
        (t.number, of): held.created for t in issued.values() for of, held in t.relationships.items()
    }


def _serials_match(issued: dict[int, Token]) -> None:
    columns = """token_id, serial_number, account_id, deleted, metadata, created_timestamp, timestamp_range,
        spender, delegating_spender"""
    assert {row[:2]: row[2:] for row in stored("nft", columns)} == {
        (t.number, number): (
            serial.owner,
            serial.owner is None,
            serial.metadata,
            serial.created,
            f"[{serial.modified},)",
            serial.spender,
            serial.delegating_spender,
        )
        for t in issued.values()
        for number, serial in t.serials.items()
    }


def _allowances_match(world: World) -> None:
    columns = "amount, amount_granted, timestamp_range"
    for table, names, granted in (
        ("crypto_allowance", "owner, spender", world.tokens.hbar_allowances),
        ("token_allowance", "owner, spender, token_id", world.tokens.token_allowances),
    ):
        width = names.count(",") + 1
        assert {row[:width]: row[width:] for row in stored(table, f"{names}, {columns}")} == {
            key: (allowance.amount, allowance.granted, f"[{allowance.since},)")
            for key, allowance in granted.items()
        }
    columns = "owner, spender, token_id, approved_for_all, timestamp_range"
    assert {row[:3]: row[3:] for row in stored("nft_allowance", columns)} == {
        key: (allowance.approved, f"[{allowance.since},)")
        for key, allowance in world.tokens.nft_allowances.items()
    }


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_tokens_match_the_network_after_every_block(seed: int) -> None:
    blocks = []
    for network, block in play(seed, 6, 150):
        load(block)
        matches(network.world)
        blocks.append(block)
    one_by_one = contents()

    empty_tables()
    split = Random(seed).randint(1, len(blocks) - 1)
    load(*blocks[:split])
    load(*blocks[split:])
    assert contents() == one_by_one


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


@pytest.mark.parametrize("seed", range(5))
def test_every_use_of_tokens_happens_in_a_long_run(seed: int) -> None:
    successful, failed = Counter[str](), Counter[str]()
    for network, block in play(seed, 20, 100):
        adds_up(network.world)
        for composed in block.transactions:
            kind = composed.body.WhichOneof("data")
            (successful if composed.record.receipt.status == SUCCESS else failed)[kind] += 1
    assert set(successful) >= TYPES
    assert len(set(failed) & TYPES) > 5


def test_the_same_seed_gives_the_same_blocks() -> None:
    first, second = (list(play(7, 3, 80)) for _ in range(2))
    assert [block.data for _, block in first] == [block.data for _, block in second]
    assert first[-1][0].world == second[-1][0].world


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
