"""The account database: what is read once, what a revert gives back."""

import random

import pytest
from eth_typing import Address

from tests.web3sim.engine.world import CONTRACT, NOBODY, OTHER, World
from web3sim.engine.accounts import Accounts
from web3sim.engine.interface import AccountRecord, SlotChange


@pytest.fixture
def world() -> World:
    return World(
        {CONTRACT: AccountRecord(balance=5, nonce=1, code=b"\x5b")},
        slots={(CONTRACT, 1): 11, (CONTRACT, 2): 22},
    )


@pytest.fixture
def accounts(world) -> Accounts:
    return Accounts(world)


def test_each_account_and_slot_is_read_once(world, accounts):
    for _ in range(3):
        accounts.get_balance(CONTRACT)
        accounts.get_nonce(CONTRACT)
        accounts.get_code(CONTRACT)
        accounts.get_code_hash(CONTRACT)
        accounts.account_exists(CONTRACT)
        accounts.get_storage(CONTRACT, 1)
        accounts.get_storage(CONTRACT, 1, from_journal=False)
        accounts.block_hash(3)

    assert world.asked == [CONTRACT, (CONTRACT, 1), 3]


def test_what_was_read_is_not_read_again_after_a_revert(world, accounts):
    checkpoint = accounts.checkpoint()
    accounts.get_storage(CONTRACT, 1)
    accounts.revert_to(checkpoint)
    accounts.get_storage(CONTRACT, 1)

    assert world.asked == [CONTRACT, (CONTRACT, 1)]


def test_a_missing_account_has_no_slots_to_read(world, accounts):
    assert accounts.get_storage(NOBODY, 1) == 0
    assert world.asked == [NOBODY]


def test_a_missing_account_exists_once_something_is_there(accounts):
    accounts.touch_account(NOBODY)
    accounts.set_balance(NOBODY, 0)
    assert not accounts.account_exists(NOBODY)

    accounts.set_balance(NOBODY, 1)
    assert accounts.account_exists(NOBODY)


def test_the_value_before_the_call_outlives_writes(accounts):
    accounts.set_storage(CONTRACT, 1, 12)
    accounts.set_storage(CONTRACT, 1, 13)

    assert accounts.get_storage(CONTRACT, 1) == 13
    assert accounts.get_storage(CONTRACT, 1, from_journal=False) == 11


def test_wiped_storage_is_empty_without_being_read(world, accounts):
    accounts.get_storage(CONTRACT, 1)
    checkpoint = accounts.checkpoint()
    accounts.delete_storage(CONTRACT)

    assert accounts.get_storage(CONTRACT, 1) == 0
    assert accounts.get_storage(CONTRACT, 1, from_journal=False) == 0
    assert accounts.get_storage(CONTRACT, 2) == 0

    accounts.revert_to(checkpoint)
    assert accounts.get_storage(CONTRACT, 1) == 11
    assert accounts.get_storage(CONTRACT, 2) == 22
    assert accounts.get_storage(CONTRACT, 2, from_journal=False) == 22


def test_slots_distinguish_reads_from_writes(accounts):
    accounts.get_storage(CONTRACT, 1)
    accounts.set_storage(CONTRACT, 2, 23)
    accounts.set_storage(CONTRACT, 3, 0)
    checkpoint = accounts.checkpoint()
    accounts.set_storage(CONTRACT, 4, 44)
    accounts.revert_to(checkpoint)

    assert accounts.slots() == {
        (CONTRACT, 1): SlotChange(11),
        (CONTRACT, 2): SlotChange(22, 23),
        (CONTRACT, 3): SlotChange(0, 0),
        (CONTRACT, 4): SlotChange(0),
    }
    assert accounts.slots_so_far() == {2: 23, 3: 0}


def test_balances_are_those_that_differ(accounts):
    accounts.set_balance(CONTRACT, 4)
    accounts.set_balance(OTHER, 1)
    accounts.get_balance(NOBODY)
    assert accounts.balances() == {CONTRACT: 4, OTHER: 1}

    accounts.set_balance(CONTRACT, 5)
    assert accounts.balances() == {OTHER: 1}


def test_a_deleted_account_is_gone(accounts):
    accounts.set_storage(CONTRACT, 1, 12)
    accounts.delete_account(CONTRACT)

    assert not accounts.account_exists(CONTRACT)
    assert not accounts.account_has_code_or_nonce(CONTRACT)
    assert (accounts.get_balance(CONTRACT), accounts.get_storage(CONTRACT, 1)) == (0, 0)


def _everything(accounts: Accounts) -> object:
    addresses = [CONTRACT, OTHER, NOBODY]
    return [
        (
            accounts.account_exists(address),
            accounts.get_balance(address),
            accounts.get_nonce(address),
            accounts.get_code(address),
            accounts.is_address_warm(address),
            [accounts.get_storage(address, slot) for slot in range(4)],
            [accounts.is_storage_warm(address, slot) for slot in range(4)],
            [accounts.get_transient_storage(address, slot) for slot in range(4)],
        )
        for address in addresses
    ]


def _change(accounts: Accounts, choose: random.Random) -> None:
    address, slot, value = (
        Address(choose.choice([CONTRACT, OTHER, NOBODY])),
        choose.randrange(4),
        choose.randrange(3),
    )
    choose.choice(
        [
            lambda: accounts.set_balance(address, value),
            lambda: accounts.increment_nonce(address),
            lambda: accounts.set_code(address, bytes([value])),
            lambda: accounts.set_storage(address, slot, value),
            lambda: accounts.delete_storage(address),
            lambda: accounts.delete_account(address),
            lambda: accounts.mark_address_warm(address),
            lambda: accounts.mark_storage_warm(address, slot),
            lambda: accounts.set_transient_storage(address, slot, bytes([value])),
        ]
    )()


@pytest.mark.parametrize("seed", range(30))
def test_a_checkpoint_gives_back_everything(accounts, seed):
    choose = random.Random(seed)
    checkpoints = []
    for _ in range(200):
        if choose.random() < 0.15:
            checkpoints.append((accounts.checkpoint(), _everything(accounts)))
        elif checkpoints and choose.random() < 0.1:
            checkpoint, before = checkpoints.pop()
            if choose.random() < 0.5:
                accounts.revert_to(checkpoint)
                assert _everything(accounts) == before
        else:
            _change(accounts, choose)
    for checkpoint, before in reversed(checkpoints):
        accounts.revert_to(checkpoint)
        assert _everything(accounts) == before


def test_an_account_is_funded_once_and_unfunded_by_a_revert():
    accounts = Accounts(World({OTHER: AccountRecord(balance=3, min_balance=10)}))
    checkpoint = accounts.checkpoint()
    accounts.fund(OTHER)
    accounts.set_balance(OTHER, 4)
    accounts.fund(OTHER)
    assert accounts.get_balance(OTHER) == 4

    accounts.revert_to(checkpoint)
    assert accounts.get_balance(OTHER) == 3
    accounts.fund(OTHER)
    assert accounts.get_balance(OTHER) == 10


def test_the_senders_given_balance_is_not_raised():
    accounts = Accounts(World({OTHER: AccountRecord(balance=3, min_balance=10)}))
    accounts.begin(OTHER, [OTHER], 7)
    accounts.fund(OTHER)

    assert accounts.get_balance(OTHER) == 7
