import pytest

from tests.build import START
from tests.web3sim.state.states import at, current, long_zero
from web3sim.state.payer import Payer, find_payer

EVM_ADDRESS = bytes.fromhex("824eee6b04a9ff7569ba46129644529a45ae84c8")


@pytest.mark.parametrize("sender", [None, bytes(20)])
@pytest.mark.parametrize("stored", [True, False])
def test_without_sender_and_value_the_treasury_pays(build, sender, stored):
    if stored:
        build.entity(2, balance=50)
    assert find_payer(current(), sender, value=0) == Payer(long_zero(2), 50 if stored else 0)


@pytest.mark.parametrize("sender", [None, bytes(20)])
def test_value_without_sender_is_refused(build, sender):
    build.entity(2)
    assert find_payer(current(), sender, value=1) is None


@pytest.mark.parametrize("sender", [EVM_ADDRESS, long_zero(2001)], ids=["own address", "long-zero"])
@pytest.mark.parametrize("column", ["alias", "evm_address"])
def test_a_sender_pays_under_its_own_address(build, sender, column):
    build.entity(2001, balance=99, **{column: EVM_ADDRESS})
    assert find_payer(current(), sender, value=1) == Payer(EVM_ADDRESS, 99)


def test_a_sender_without_own_address_pays_under_the_long_zero_one(build):
    build.entity(2001, balance=99)
    assert find_payer(current(), long_zero(2001), value=0) == Payer(long_zero(2001), 99)


@pytest.mark.parametrize("value", [0, 1])
def test_for_a_contract_the_treasury_pays(build, value):
    build.entity(2, balance=50)
    build.entity(2002, type="CONTRACT", balance=1)
    assert find_payer(current(), long_zero(2002), value=value) == Payer(long_zero(2), 50)


def test_other_accounts_pay_no_fee(build):
    build.entity(2001, deleted=True, evm_address=EVM_ADDRESS)
    build.entity(2003, type="TOKEN")
    senders = (EVM_ADDRESS, *map(long_zero, (2001, 2003, 2004)))
    assert [find_payer(current(), sender, value=0) for sender in senders] == [None] * 4


def test_a_payer_at_a_time_has_the_balance_of_that_time(build):
    build.entity(2001, balance=99)
    build.crypto_transfer(START + 1, 2001, 40)
    payer = find_payer(at(START + 1), long_zero(2001), value=1)
    assert payer is not None
    assert payer.balance == 40
    assert find_payer(at(START - 1), long_zero(2001), value=1) is None
