"""Tokens as contracts, asked through the plain engine."""

from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.build import START
from tests.web3sim.state.states import account, at, current, journal, long_zero
from tests.web3sim.system_contracts.calls import BLOCK, CALLER, SERVICE, data_of, run, words
from tests.web3sim.system_contracts.simulation import Simulation
from web3sim.engine import registry
from web3sim.engine.interface import CallRequest, Halt, Status, SystemCall
from web3sim.operations.prices import WITHOUT_FILES
from web3sim.system_contracts.abi import one_string
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.token_service import functions

TREASURY, OWNER, SPENDER, TOKEN, UNIQUE = 1001, 2001, 2002, 3001, 3002
OWNER_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
VIEW_GAS = WITHOUT_FILES.gas_of_view
STATES = pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])


@pytest.fixture
def ledger(build):
    for number in (TREASURY, SPENDER, CALLER):
        build.entity(number)
    build.entity(OWNER, evm_address=OWNER_ADDRESS)
    for number in (TOKEN, UNIQUE):
        build.entity(number, type="TOKEN")
    build.token(TOKEN, name="Ledger Gold", symbol="LGD", decimals=300, total_supply=77)
    build.token(UNIQUE, name="Pictures", symbol="PIC", type="NON_FUNGIBLE_UNIQUE", total_supply=2)
    build.holding(TOKEN, account=OWNER, balance=60)
    build.holding(UNIQUE, account=OWNER, balance=1)
    build.nft(UNIQUE, 1, account=OWNER, spender=SPENDER, metadata="ipfs://bild ä".encode())
    build.nft(UNIQUE, 2, account=TREASURY, metadata=b"\xff")
    build.nft(UNIQUE, 3, account=None, deleted=True)
    build.nft(UNIQUE, 4, account=2999)
    build.nft(UNIQUE, 5, account=OWNER, spender=OWNER)
    build.allowance("token", owner=OWNER, spender=SPENDER, token_id=TOKEN, amount=33, amount_granted=33)
    build.allowance("nft", owner=OWNER, spender=SPENDER, token_id=UNIQUE)
    build.transaction(START + 50, tokens=[(TOKEN, OWNER, 60), (TOKEN, TREASURY, 17)])
    return build


def ask(state, token, signature, *values):
    """What a token answers, which must be a success."""
    result = run(state, long_zero(token), data_of(signature, *values))
    assert result.status is Status.SUCCESS, result
    return result.output


BALANCE_OF, ALLOWANCE, OWNER_OF = "balanceOf(address)", "allowance(address,address)", "ownerOf(uint256)"
GET_APPROVED, FOR_ALL = "getApproved(uint256)", "isApprovedForAll(address,address)"

ANSWERS = [
    (TOKEN, "name()", (), one_string(b"Ledger Gold")),
    (TOKEN, "symbol()", (), one_string(b"LGD")),
    (TOKEN, "decimals()", (), words(255)),
    (TOKEN, "totalSupply()", (), words(77)),
    (TOKEN, BALANCE_OF, (OWNER_ADDRESS,), words(60)),
    (TOKEN, BALANCE_OF, (long_zero(SPENDER),), words(0)),
    (TOKEN, ALLOWANCE, (OWNER_ADDRESS, long_zero(SPENDER)), words(33)),
    (TOKEN, ALLOWANCE, (long_zero(SPENDER), OWNER_ADDRESS), words(0)),
    (TOKEN, ALLOWANCE, (OWNER_ADDRESS, long_zero(2999)), words(0)),
    (UNIQUE, "name()", (), one_string(b"Pictures")),
    (UNIQUE, "symbol()", (), one_string(b"PIC")),
    (UNIQUE, BALANCE_OF, (long_zero(SPENDER),), words(0)),
    (UNIQUE, OWNER_OF, (1,), words(OWNER_ADDRESS)),
    (UNIQUE, OWNER_OF, (2,), words(long_zero(TREASURY))),
    (UNIQUE, "tokenURI(uint256)", (1,), one_string("ipfs://bild ä".encode())),
    (UNIQUE, "tokenURI(uint256)", (2,), one_string("\N{REPLACEMENT CHARACTER}".encode())),
    *(
        (
            UNIQUE,
            "tokenURI(uint256)",
            (serial,),
            one_string(b"ERC721Metadata: URI query for nonexistent token"),
        )
        for serial in (0, 3, 9, 1 << 200)
    ),
    (UNIQUE, GET_APPROVED, (1,), words(long_zero(SPENDER))),
    (UNIQUE, GET_APPROVED, (2,), words(0)),
    (UNIQUE, GET_APPROVED, (5,), words(OWNER_ADDRESS)),
    (UNIQUE, FOR_ALL, (OWNER_ADDRESS, long_zero(SPENDER)), words(1)),
    (UNIQUE, FOR_ALL, (long_zero(SPENDER), OWNER_ADDRESS), words(0)),
    (UNIQUE, FOR_ALL, (OWNER_ADDRESS, long_zero(2999)), words(0)),
]


@STATES
def test_a_token_answers_as_a_contract(ledger, state_of):
    state = state_of()
    answers = [ask(state, token, signature, *values) for token, signature, values, _ in ANSWERS]
    assert answers == [expected for *_, expected in ANSWERS]


def test_the_supply_and_the_balance_of_a_unique_token_are_its_serials(ledger):
    assert ask(current(), UNIQUE, "totalSupply()") == words(2)
    assert ask(current(), UNIQUE, BALANCE_OF, OWNER_ADDRESS) == words(1)
    then = at(START + 100)
    assert ask(then, UNIQUE, "totalSupply()") == words(4)
    assert ask(then, UNIQUE, BALANCE_OF, OWNER_ADDRESS) == words(2)


REFUSED = [
    (TOKEN, BALANCE_OF, (long_zero(2999),), "INVALID_ACCOUNT_ID"),
    # It has an address of its own.
    (TOKEN, BALANCE_OF, (long_zero(OWNER),), "INVALID_ACCOUNT_ID"),
    (TOKEN, BALANCE_OF, (long_zero(UNIQUE),), "INVALID_ACCOUNT_ID"),
    (TOKEN, ALLOWANCE, (long_zero(2999), long_zero(SPENDER)), "INVALID_ALLOWANCE_OWNER_ID"),
    *((UNIQUE, OWNER_OF, (serial,), "INVALID_TOKEN_NFT_SERIAL_NUMBER") for serial in (0, 3, 9, 1 << 63)),
    (UNIQUE, OWNER_OF, (4,), "INVALID_ACCOUNT_ID"),
    (UNIQUE, GET_APPROVED, (9,), "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
    (TOKEN, FOR_ALL, (OWNER_ADDRESS, long_zero(SPENDER)), "INVALID_TOKEN_ID"),
    (TOKEN, GET_APPROVED, (1,), "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
]


@STATES
@pytest.mark.parametrize(("token", "signature", "values", "code"), REFUSED)
def test_a_token_reverts_without_data_for_a_response_code(ledger, state_of, token, signature, values, code):
    result = run(state_of(), long_zero(token), data_of(signature, *values))
    assert (result.status, result.output, result.child_failures) == (Status.REVERT, b"", (code,))


def test_in_a_static_frame_the_wrong_token_is_named(ledger):
    result = run(current(), SERVICE, redirect(TOKEN, data_of(GET_APPROVED, 1)), static=True)
    assert (result.status, result.output) == (Status.REVERT, b"INVALID_TOKEN_ID")


def test_allowance_of_a_unique_token_is_nothing(ledger):
    assert ask(current(), UNIQUE, ALLOWANCE, OWNER_ADDRESS, long_zero(SPENDER)) == words(0)


@pytest.mark.parametrize(
    ("token", "data"),
    [
        (UNIQUE, data_of("decimals()")),
        (TOKEN, data_of(OWNER_OF, 1)),
        (TOKEN, data_of("tokenURI(uint256)", 1)),
        (TOKEN, b""),
        (TOKEN, data_of("name()")[:3]),
        (TOKEN, data_of(BALANCE_OF)),
        (TOKEN, data_of(BALANCE_OF, OWNER_ADDRESS)[:-1]),
        (TOKEN, data_of(BALANCE_OF, (1 << 160) + 5)),
        (UNIQUE, data_of(OWNER_OF)),
    ],
    ids=lambda value: value.hex()[:16] if isinstance(value, bytes) else "",
)
def test_what_a_token_can_not_answer_reverts_without_data(ledger, token, data):
    result = run(current(), long_zero(token), data)
    assert (result.status, result.output, result.child_failures) == (Status.REVERT, b"", ())


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("12345678"),
        data_of("safeTransferFrom(address,address,uint256)", 1, 2, 3),
        data_of("supportsInterface(bytes4)", 1),
    ],
    ids=lambda data: data.hex()[:8],
)
def test_a_token_succeeds_without_output_at_other_selectors(ledger, data):
    for static in (False, True):
        result = run(current(), long_zero(TOKEN), data, static=static)
        assert (result.status, result.output, result.child_failures) == (Status.SUCCESS, b"", ())


def test_a_transfer_of_units_is_unknown_to_a_unique_token(ledger):
    """So a static frame does not refuse it."""
    for static in (False, True):
        result = run(current(), long_zero(UNIQUE), data_of("transfer(address,uint256)", 1, 1), static=static)
        assert (result.status, result.output) == (Status.SUCCESS, b"")
        result = run(current(), long_zero(TOKEN), data_of("transfer(address,uint256)", 1, 1), static=static)
        assert (result.status, result.output) == (Status.REVERT, b"")


# THE SERVICE ITSELF


def redirect(token, data, offset=64):
    return (
        data_of("redirectForToken(address,bytes)", long_zero(token), offset)
        + words(len(data))
        + data
        + bytes(-len(data) % 32)
    )


def test_the_service_answers_for_a_token(ledger):
    data = data_of(BALANCE_OF, OWNER_ADDRESS)
    assert run(current(), SERVICE, redirect(TOKEN, data)).output == words(60)


def test_the_service_knows_no_other_token(ledger):
    for number in (OWNER, 2999):
        result = run(current(), SERVICE, redirect(number, data_of("name()")))
        assert (result.status, result.output) == (Status.REVERT, b"INVALID_TOKEN_ID")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes.fromhex("618dc6"),
        data_of("name()"),
        redirect(TOKEN, b""),
        redirect(TOKEN, b"\1\2\3"),
        bytes.fromhex("618dc65e") + long_zero(TOKEN)[:10],
    ],
    ids=lambda data: data.hex()[:16],
)
def test_the_service_halts_at_what_it_does_not_know(ledger, data):
    result = run(current(), SERVICE, data)
    assert (result.status, result.halt, result.gas_used) == (Status.HALT, Halt.PRECOMPILE, 1_000_000)


def test_any_caller_may_pack_the_address_of_a_token(ledger):
    data = bytes.fromhex("618dc65e") + long_zero(TOKEN) + data_of(BALANCE_OF, OWNER_ADDRESS)
    assert run(current(), SERVICE, data).output == words(60)


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("12345678"),
        data_of("transfer(address,uint256)", OWNER_ADDRESS, 1),
        data_of("associate()"),
        redirect(TOKEN, bytes.fromhex("12345678")),
        redirect(TOKEN, data_of("associateToken(address,address)", OWNER_ADDRESS, 1)),
        # Arguments that can't be decoded are a packed address and an unknown selector.
        redirect(TOKEN, data_of("name()"), offset=640),
        redirect(TOKEN, data_of("name()")) + b"\0",
    ],
    ids=lambda data: data.hex()[:16],
)
def test_the_service_succeeds_without_output_at_other_selectors(ledger, data):
    result = run(current(), SERVICE, data)
    assert (result.status, result.output, result.execution_gas) == (Status.SUCCESS, b"", 0)


@pytest.mark.parametrize("number", [0x168, 0x169, 0x16A, 0x16B, 0x16C])
def test_services_halt_without_a_selector(ledger, number):
    for data in (b"", b"\1\2\3"):
        assert run(current(), long_zero(number), data).halt is Halt.PRECOMPILE
    other = run(current(), long_zero(number), bytes.fromhex("12345678"))
    assert (other.halt is Halt.PRECOMPILE) is (number in (0x168, 0x169, 0x16C))


def test_an_account_is_no_proxy_for_anything_else(ledger):
    result = run(current(), OWNER_ADDRESS, data_of("name()"))
    assert (result.status, result.output) == (Status.SUCCESS, b"")


TABLES = (functions.FUNCTIONS, functions.PROXY_FUNCTIONS)


def test_every_call_is_answered_or_refused(ledger):
    choose = Random(1)
    contracts = NetworkContracts(current())
    selectors = [selector for table in TABLES for selector in table]
    words_to_choose = (
        0,
        1,
        3,
        64,
        1 << 63,
        1 << 255,
        TOKEN,
        UNIQUE,
        OWNER,
        OWNER_ADDRESS,
        long_zero(SPENDER),
    )
    for _ in range(1000):
        data = choose.choice(selectors) + words(*choose.choices(words_to_choose, k=choose.randrange(4)))
        data = data[: choose.choice((len(data), len(data), choose.randrange(len(data) + 1)))]
        if choose.random() < 0.5:
            data = redirect(
                choose.choice((TOKEN, UNIQUE, OWNER)), data, offset=choose.choice((64, 64, 65, 1 << 90))
            )
        address = choose.choice((SERVICE, SERVICE, *(long_zero(number) for number in range(0x167, 0x16D))))
        call = SystemCall(address, address, long_zero(CALLER), data, 0, 10_000, static=False, depth=0)
        answer = contracts.call(call, journal(current()))
        some = bool(answer.output) or not answer.reverted
        assert answer.halt in (Halt.PRECOMPILE, Halt.OUT_OF_GAS) or (0 <= answer.gas <= 10_000 and some)


@STATES
def test_nothing_is_shown_as_less_than_zero(build, state_of):
    """The mirror may have begun after the token."""
    build.entity(TREASURY, balance=-5)
    build.entity(TOKEN, type="TOKEN")
    build.token(TOKEN, total_supply=-1)
    build.holding(TOKEN, account=TREASURY, balance=-2)
    build.transaction(START + 1, transfers=[(TREASURY, -5)], tokens=[(TOKEN, TREASURY, -2)])
    state = state_of()
    assert account(state, long_zero(TREASURY)).balance == 0
    assert (
        ask(state, TOKEN, "totalSupply()") == ask(state, TOKEN, BALANCE_OF, long_zero(TREASURY)) == words(0)
    )


# GAS AND STATEMENTS


def system_call(data, *, gas=10_000, recipient=SERVICE):
    return SystemCall(SERVICE, recipient, long_zero(CALLER), data, 0, gas, static=False, depth=0)


def test_views_have_one_price_also_when_they_revert(ledger):
    contracts = NetworkContracts(current())
    for data in (data_of("name()"), data_of(BALANCE_OF, long_zero(2999))):
        assert contracts.call(system_call(redirect(TOKEN, data)), journal(current())).gas == VIEW_GAS == 2607


def test_too_little_gas_for_a_view_is_out_of_gas(ledger):
    for to, data in ((long_zero(TOKEN), data_of("name()")), (SERVICE, redirect(TOKEN, data_of("name()")))):
        enough = run(current(), to, data).gas_used
        assert run(current(), to, data, gas=enough + 100).status is Status.SUCCESS
        assert run(current(), to, data, gas=enough - 100).halt is Halt.OUT_OF_GAS


def test_cached_token_view_needs_no_statement(ledger):
    ask(current(), TOKEN, BALANCE_OF, OWNER_ADDRESS)
    with CaptureQueriesContext(connection) as statements:
        assert ask(current(), TOKEN, BALANCE_OF, OWNER_ADDRESS) == words(60)
    assert len(statements) == 0
    with CaptureQueriesContext(connection) as statements:
        ask(current(), TOKEN, BALANCE_OF, long_zero(SPENDER))
    assert len(statements) == 2


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_each_engine_gives_tokens_the_same_answers(ledger, engine):
    state = current()
    request = CallRequest(sender=long_zero(CALLER), to=long_zero(TOKEN), data=data_of("name()"), gas=100_000)
    result = registry.engine(engine).execute(request, BLOCK, state, NetworkContracts(state))
    plain = run(state, long_zero(TOKEN), data_of("name()"), gas=100_000)
    assert (result.output, result.gas_used) == (plain.output, plain.gas_used)


# CONTRACTS THAT CAN'T DESTROY THEMSELVES


@STATES
def test_a_holder_of_tokens_and_a_treasury_are_tied_to_them(ledger, state_of):
    for number in (5001, 5002, 5003):
        ledger.entity(number, type="CONTRACT")
    ledger.holding(TOKEN, account=5001, balance=1)
    ledger.nft(UNIQUE, 6, account=5001)
    ledger.holding(UNIQUE, account=5001, balance=1)
    ledger.holding(TOKEN, account=5002, balance=0)
    ledger.entity(3003, type="TOKEN")
    ledger.token(3003, treasury_account_id=5003)
    ledger.holding(3003, account=5003, balance=0)
    state = state_of()
    contracts = NetworkContracts(state)
    tied = [
        contracts.tied_to_tokens(long_zero(number), journal(state))
        for number in (5001, 5002, 5003, 5004, TOKEN)
    ]
    assert tied == [True, False, True, False, False]


def test_what_a_call_has_moved_ties_or_ties_no_more(ledger):
    """A contract may give all away that it has, and then destroy itself."""
    for number in (5001, 5002):
        ledger.entity(number, type="CONTRACT")
        ledger.holding(TOKEN, account=number, balance=0 if number == 5002 else 2)
    simulation = Simulation(sender=5001)
    contracts = NetworkContracts(simulation.state)

    def tied():
        return [contracts.tied_to_tokens(long_zero(number), simulation.journal) for number in (5001, 5002)]

    def give(sender, receiver):
        addresses = map(long_zero, (TOKEN, sender, receiver))
        assert simulation.code("transferToken(address,address,address,int64)", *addresses, 1) == "SUCCESS"

    assert tied() == [True, False]
    give(5001, 5002)
    assert tied() == [True, True]
    give(5001, 5002)
    assert tied() == [False, True]
    simulation.sender = 5002
    give(5002, 5001)
    assert tied() == [True, True]
