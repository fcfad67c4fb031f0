"""The rules of all functions of system contracts, each from its row in the table."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from eth_abi.abi import encode
from eth_abi.grammar import parse
from pytest_django import DjangoDbBlocker

from mirror.core.values.hapi.messages import Key
from tests.build import Build
from tests.ledger.ingest.tables import empty_tables
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, journal, long_zero
from tests.web3sim.system_contracts.calls import CALLER, CODES, run, words
from tests.web3sim.system_contracts.scripts import Outcome, Step, outcomes, script
from web3sim.engine.interface import Address, Halt, Status, SystemAnswer, SystemCall
from web3sim.operations.rejections import Rejection
from web3sim.state.proxy_code import TOKEN_SERVICE
from web3sim.system_contracts.contracts import SERVICES, NetworkContracts, Service
from web3sim.system_contracts.functions import Function

PERSON, TOKEN, UNIQUE, SCHEDULE, SCRIPT = 1001, 3001, 3002, 4001, 5002
NOWHERE = long_zero(999_999)
GAS = 10**7
KEY = Key(ed25519=bytes(32)).SerializeToString()
_KEYS = ("kyc_key", "freeze_key", "wipe_key", "supply_key", "pause_key", "fee_schedule_key", "metadata_key")


class Row(NamedTuple):
    """A function of the table; at a target it is called as the token, account or schedule does."""

    address: Address
    service: Service
    function: Function
    at_target: bool

    def arguments(self) -> bytes:
        parameters = self.function.parameters
        return encode(parameters, [_some(parse(kind)) for kind in parameters])

    def data(self, arguments: bytes) -> bytes:
        return self.redirected(self.function.selector + arguments) if self.at_target else self._own(arguments)

    def _own(self, arguments: bytes) -> bytes:
        return self.function.selector + arguments

    def redirected(self, inner: bytes) -> bytes:
        assert self.service.redirect is not None
        target = {TOKEN_SERVICE: TOKEN}.get(self.address, SCHEDULE if self.address[-1] == 0x6B else PERSON)
        return self.service.redirect + long_zero(target) + inner


def _some(kind: Any, address: bytes = long_zero(TOKEN), most: int = 1) -> Any:
    """A small value of a parsed type: numbers are 1, lists have one or no member."""
    if kind.is_array:
        return [_some(kind.item_type, address)] * most
    if hasattr(kind, "components"):
        return tuple(_some(member, address, most) for member in kind.components)
    return {"address": address, "bool": True, "bytes": b"some", "string": "text"}.get(kind.base, 1)


ROWS = [
    Row(address, service, function, bool(at_target))
    for address, service in SERVICES.items()
    for at_target, functions in enumerate((service.functions, service.proxy_functions))
    for function in functions.values()
]
NAMES = [f"{'at ' * row.at_target}{row.address[-1]:#x} {row.function.signature}" for row in ROWS]
each_row = pytest.mark.parametrize("row", ROWS, ids=NAMES)


def each_row_that(applies: Callable[[Row], object]) -> pytest.MarkDecorator:
    chosen = [(row, name) for row, name in zip(ROWS, NAMES, strict=True) if applies(row)]
    return pytest.mark.parametrize("row", [row for row, _ in chosen], ids=[name for _, name in chosen])


@pytest.fixture(scope="module")
def stored(_test_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    build = Build()
    with django_db_blocker.unblock():
        build.block(7)
        for number in (PERSON, CALLER):
            build.entity(number, key=KEY, balance=10**12)
        for number in (TOKEN, UNIQUE):
            build.entity(number, type="TOKEN", key=KEY)
            kind = "NON_FUNGIBLE_UNIQUE" if number == UNIQUE else "FUNGIBLE_COMMON"
            statuses: dict[str, Any] = {"freeze_status": 2, "kyc_status": 1, "pause_status": "UNPAUSED"}
            build.token(
                number, type=kind, treasury_account_id=PERSON, **dict.fromkeys(_KEYS, KEY), **statuses
            )
            build.holding(number, account=PERSON, balance=1)
        build.entity(SCHEDULE, type="SCHEDULE", key=KEY)
        build.schedule(SCHEDULE, creator=PERSON, payer=PERSON)
        yield
        empty_tables()


@pytest.fixture
def ledger(stored: None, build: Build) -> Build:
    return build


def call(row: Row, data: bytes, *, static: bool = False, gas: int = GAS) -> SystemAnswer:
    state = current()
    changes = journal(state)
    sender = long_zero(CALLER)
    request = SystemCall(
        row.address, row.address, sender, data, 0, gas, static=static, depth=0, origin=sender
    )
    answer = NetworkContracts(state).call(request, changes)
    if answer.halt is not None or answer.reverted or static:
        # What stays is that a later call may not be scheduled.
        assert set(changes.rows()) <= {("scheduling refused",)}
    return answer


@each_row_that(lambda row: row.function.parameters)
def test_missing_bytes_and_bytes_behind_the_arguments_halt(ledger, row):
    for arguments in (row.arguments()[:-1], row.arguments() + bytes(32)):
        assert call(row, row.data(arguments)).halt is Halt.PRECOMPILE


@each_row
def test_too_short_a_selector_halts(ledger, row):
    short = row.function.selector[:3]
    data = row.redirected(short) if row.at_target else short
    assert call(row, data).halt is Halt.PRECOMPILE


@each_row
def test_a_write_halts_in_a_static_frame(ledger, row):
    answer = call(row, row.data(row.arguments()), static=True)
    if row.function.writes or not row.function.static:
        takes_all_gas = answer.reverted and answer.gas == GAS
        assert answer.halt is Halt.PRECOMPILE or (takes_all_gas and row.function.limits is not None)
    else:
        assert answer.gas < 10_000


@each_row
def test_with_too_little_gas_nothing_changes(ledger, row):
    data = row.data(row.arguments())
    enough = call(row, data)
    # A refusal may take all gas, or let no other call be scheduled.
    special = row.function.rejection is Rejection.COSTLY_CODE or row.function.schedules_calls
    if enough.halt is None and enough.gas and not special:
        answer = call(row, data, gas=enough.gas - 1)
        out_of_gas = (answer.halt, answer.output) == (Halt.OUT_OF_GAS, b"")
        # A refusal for all gas takes whatever there is.
        assert out_of_gas or (answer.child == enough.child and answer.gas == enough.gas - 1)
        assert call(row, data, gas=enough.gas)._replace(logs=()) == enough._replace(logs=())


@each_row_that(
    lambda row: (
        not row.at_target
        and row.service.redirect is not None
        and row.function.only_direct
        and row.function.selector not in row.service.proxy_functions
    )
)
def test_a_function_of_the_service_may_be_unknown_at_a_target(ledger, row):
    answer = call(row, row.redirected(row.function.selector + row.arguments()))
    assert (answer.output, answer.gas, answer.halt) == (b"", 0, None)


@each_row_that(lambda row: row.at_target and row.function.selector not in row.service.functions)
def test_a_function_of_a_target_is_unknown_to_the_service_or_halts(ledger, row):
    answer = call(row, row.function.selector + row.arguments())
    if row.function.needs_target:
        assert answer.halt is Halt.PRECOMPILE
    else:
        assert answer == SystemAnswer()


# Rejected before the function looks at anything else, by a check of its own; or by one code in another form.
_OTHER_FORMS = {
    "cancelAirdrops(PendingAirdrop[])": Rejection.COSTLY_TEXT,
    "claimAirdrops(PendingAirdrop[])": Rejection.COSTLY_TEXT,
    "authorizeSchedule(address)": Rejection.COSTLY_TEXT,
    "signSchedule(address,bytes)": Rejection.COSTLY_TEXT,
    "scheduleNative(address,bytes,address)": Rejection.COSTLY_TEXT,
    "setApprovalForAll(address,address,bool)": Rejection.CODE,
}
# What succeeds or halts where nothing is at the addresses that it names. Others have no refusal.
_NOT_REFUSED = """
    isToken(address) allowance(address,address,address) name() symbol() decimals() totalSupply()
    tokenURI(uint256) ownerOf(uint256) isAssociated() associate() getPseudorandomSeed()
    tinycentsToTinybars(uint256) tinybarsToTinycents(uint256) isValidAlias(address)
    hbarAllowance(address) setUnlimitedAutomaticAssociations(bool)
    scheduleCallWithPayer(address,address,uint256,uint256,uint64,bytes) hasScheduleCapacity(uint256,uint256)
    executeCallOnPayerSignature(address,address,uint256,uint256,uint64,bytes) deleteSchedule()
"""


def _form(answer: SystemAnswer) -> Rejection:
    takes_all_gas = answer.gas == GAS
    assert answer.child is not None
    if not answer.reverted:
        assert answer.output.startswith(words(CODES[answer.child]))
        return Rejection.COSTLY_CODE if takes_all_gas else Rejection.CODE
    if answer.output == words(CODES[answer.child]):
        return Rejection.WORD
    assert answer.output == answer.child.encode()
    return Rejection.COSTLY_TEXT if takes_all_gas else Rejection.TEXT


@each_row
def test_a_refusal_has_the_form_that_its_row_says(ledger, row):
    """A function that halts at keys or fees that can't be read is given empty lists of them."""
    parameters = row.function.parameters
    arguments = ([_some(parse(kind), NOWHERE, most) for kind in parameters] for most in (1, 0))
    answers = (call(row, row.data(encode(parameters, values))) for values in arguments)
    refused = next((answer for answer in answers if answer.child not in (None, "SUCCESS")), None)
    assert (refused is None) is (row.function.signature in _NOT_REFUSED.split())
    if refused is not None:
        assert _form(refused) is _OTHER_FORMS.get(row.function.signature, row.function.rejection)


@pytest.fixture
def called_by_contract(ledger):
    """Return what becomes of a call by a contract."""

    def outcome(row: Row, kind: str) -> Outcome:
        contract(ledger, SCRIPT, script(Step(row.address, row.data(row.arguments()), kind)))
        result = run(current(), long_zero(SCRIPT), b"", gas=12_000_000)
        assert result.status is Status.SUCCESS
        return outcomes(result)[0]

    return outcome


@each_row
def test_a_calling_contract_sees_no_bytes_of_a_revert(called_by_contract, row):
    outcome = called_by_contract(row, "CALL")
    assert outcome.succeeded or outcome.output == b""


@each_row_that(lambda row: row.address[-1] not in (0x68, 0x69))
def test_a_contract_can_not_delegate_to_services_of_the_ledger(called_by_contract, row):
    assert called_by_contract(row, "DELEGATECALL") == (False, b"")
