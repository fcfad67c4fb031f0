"""What simulated calls change, beside what their transactions change when their records are ingested."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from eth_abi.abi import encode

from mirror.core.values.hapi.messages import CryptoCreateTransactionBody
from mirror.demo.streams.record_files import ComposedTransaction, account
from tests.ledger.ingest.load import load
from tests.tokens.compose import KEY, TokenStream, serials, token, units
from tests.web3sim.state.states import current, journal, long_zero
from tests.web3sim.system_contracts.calls import Calls
from tests.web3sim.system_contracts.ingested.case import Case
from tests.web3sim.system_contracts.ingested.numbers import (
    CALLER,
    DISTANCE,
    FRESH,
    HOLDER,
    NEW,
    NUMBERS,
    OPEN,
    OTHER,
    OWNER,
    PLAIN,
    SCHEDULE,
    SERIALS,
    STRANGER,
    UNITS,
)
from tests.web3sim.system_contracts.ingested.rows import READ, plain, stored_rows
from web3sim.engine.interface import SystemAnswer, SystemCall
from web3sim.state import cache
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay
from web3sim.state.proxy_code import (
    ACCOUNT_SERVICE,
    REDIRECT_FOR_ACCOUNT,
    REDIRECT_FOR_SCHEDULE,
    REDIRECT_FOR_TOKEN,
    SCHEDULE_SERVICE,
    TOKEN_SERVICE,
)
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

_REDIRECT = {
    TOKEN_SERVICE: REDIRECT_FOR_TOKEN,
    ACCOUNT_SERVICE: REDIRECT_FOR_ACCOUNT,
    SCHEDULE_SERVICE: REDIRECT_FOR_SCHEDULE,
}
_PEOPLE = (OWNER, HOLDER, OTHER, STRANGER, OPEN)
_EVERY_KEY: dict[str, Any] = dict.fromkeys(
    (
        "adminKey",
        "kycKey",
        "freezeKey",
        "wipeKey",
        "supplyKey",
        "fee_schedule_key",
        "pause_key",
        "metadata_key",
    ),
    KEY,
)
_NUMBER_FIELDS = frozenset({"accountNum", "tokenNum", "contractNum", "scheduleNum"})


# NUMBERS OF A CASE


class CaseStream(TokenStream):
    """A stream whose transactions are of the case that is named last, and cost nothing."""

    at = 0

    def transaction(self, body: Any, record: Any | None = None, **options: Any) -> ComposedTransaction:
        for message in (body, record):
            if message is not None:
                _move_message(message, self.at)
        options["payer"] = moved(options.get("payer", 2), self.at)
        if options.get("transfers"):
            options["transfers"] = {moved(key, self.at): value for key, value in options["transfers"].items()}
        return super().transaction(body, record, **{"fee": 0} | options)


def _move_message(message: Any, at: int) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None:
            # A list, or one message.
            for each in [value] if hasattr(value, "ListFields") else value:
                _move_message(each, at)
        elif field.name in _NUMBER_FIELDS:
            setattr(message, field.name, moved(value, at))


def moved(given: Any, at: int) -> Any:
    """Numbers of entities as those of a case: alone, or in an address, in data or a list."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given + at if given in NUMBERS else given
    if isinstance(given, bytes):
        for number in NUMBERS:
            given = given.replace(long_zero(number), long_zero(number + at))
        return given
    if isinstance(given, tuple | list):
        return type(given)(
            moved(each, at) if isinstance(each, bytes | tuple | list) else each for each in given
        )
    return given


def _renumbered(row: Any, numbers: Mapping[int, int]) -> Any:
    """A row of a call, with what it has created by the numbers that the transaction gave it."""
    if is_dataclass(row) and not isinstance(row, type):
        changed = {field.name: _renumbered(getattr(row, field.name), numbers) for field in fields(row)}
        return type(row)(**changed)
    if isinstance(row, dict):
        return {key: _renumbered(value, numbers) for key, value in row.items()}
    if isinstance(row, tuple):
        made = [_renumbered(each, numbers) for each in row]
        return type(row)(*made) if hasattr(row, "_fields") else tuple(made)
    return numbers.get(row, row) if isinstance(row, int) and not isinstance(row, bool) else row


# THE LEDGER BEFORE


def _populate(made: CaseStream) -> None:
    for number in (OWNER, HOLDER, OTHER, STRANGER):
        made.crypto_create(number, initial_balance=10**11, create=CryptoCreateTransactionBody(key=KEY))
    unlimited = CryptoCreateTransactionBody(key=KEY, max_automatic_token_associations=-1)
    made.crypto_create(OPEN, initial_balance=10**11, create=unlimited)
    made.happen("contractCreateInstance", {}, receipt={"contractID": {"contractNum": CALLER}})
    made.create(UNITS, treasury=OWNER, supply=1000, **_EVERY_KEY)
    made.create(SERIALS, treasury=OWNER, tokenType="NON_FUNGIBLE_UNIQUE", **_EVERY_KEY)
    made.create(PLAIN, treasury=OWNER, supply=1000)
    made.create(FRESH, treasury=OWNER, supply=5)
    for holder in (HOLDER, OTHER):
        made.associate(holder, UNITS, SERIALS, PLAIN)
        for number in (UNITS, SERIALS):
            made.happen("tokenGrantKyc", {"account": account(holder), "token": token(number)})
    made.mint_serials(SERIALS, 1, 2, 3, treasury=OWNER)
    made.transfer(units(UNITS, {OWNER: -100, HOLDER: 100}), units(PLAIN, {OWNER: -100, HOLDER: 100}))
    made.transfer(serials(SERIALS, (1, OWNER, HOLDER)))
    made.happen(
        "scheduleCreate",
        {"adminKey": KEY, "scheduledTransactionBody": {"memo": "later"}},
        receipt={"scheduleID": {"scheduleNum": SCHEDULE}},
        payer=OWNER,
    )


# CALLS AND TRANSACTIONS


class _Called:
    """A call that is over, and the rows that it left, by the numbers of its transaction."""

    def __init__(self, case: Case, at: int) -> None:
        self.case, self.at = case, at
        calls = Calls(case.service, sender=moved(case.sender, at))
        self._before = {number + at: calls.overlay.hbar_balance(number + at) for number in _PEOPLE}
        self.answer = _answer(calls, case, at)
        changed = cast(dict[tuple[Any, ...], Any], dict(calls.journal.rows()))
        numbers = {calls.overlay.state.next_num: NEW + at}
        rows = {_renumbered(key, numbers): _renumbered(row, numbers) for key, row in changed.items()}
        self.keys = rows.keys()
        self._rows = {key: row for key, row in rows.items() if key[0] in READ}
        # What the call would count is not told by its rows alone.
        for kind, key in [(each[0], each[-1]) for each in rows]:
            if kind == "more associations":
                self._rows["associations", key] = calls.overlay.associations(key)
            if kind == "more allowances":
                self._rows["allowances", key] = calls.overlay.allowances(key)
        after = {number: calls.overlay.hbar_balance(number) for number in self._before}
        self._hbar = {number: held - self._before[number] for number, held in after.items()}

    def failed(self) -> bool:
        """Return whether the output begins with another code than SUCCESS, or with false."""
        code = self.answer.output[:32]
        succeeded = int.from_bytes(code) in (1, 22) or not code
        return self.answer.halt is not None or self.answer.reverted or not succeeded

    def wrong(self, state: LedgerState) -> Iterable[str]:
        """Say which rows of the tables are others."""
        for key, row in self._rows.items():
            in_call, in_table = plain(row), plain(READ[key[0]](state, *key[1:]))
            if in_call != in_table:
                yield f"{key}: in the call {in_call}, in the table {in_table}"
        stored = Overlay(state, journal(state))
        ingested = {number: stored.hbar_balance(number) - held for number, held in self._before.items()}
        # What creating a token and an airdrop cost the network charges in another way.
        charged = self.case.value or self.case.signature.startswith("airdrop")
        if not charged and self._hbar != ingested:
            yield f"hbar moved in the call {self._hbar}, in the tables {ingested}"


def _answer(calls: Calls, case: Case, at: int) -> SystemAnswer:
    arguments = moved(case.arguments, at)
    if case.target is not None:
        return calls.at(long_zero(case.target + at), _REDIRECT[case.service], case.signature, *arguments)
    data = call_data(case, at)
    if case.value:
        # The engine has moved the value to the service.
        calls.journal.set_balance(calls.sender, calls.journal.get_balance(calls.sender) - case.value)
        calls.journal.set_balance(case.service, calls.journal.get_balance(case.service) + case.value)
    call = SystemCall(
        case.service, case.service, calls.sender, data, case.value, 10**7, static=False, depth=0
    )
    return calls.contracts.call(call, calls.journal)


def call_data(case: Case, at: int) -> bytes:
    return selector_of(case.signature) + encode(parameters_of(case.signature), moved(case.arguments, at))


def prepared(cases: Iterable[Case], made: CaseStream) -> list[tuple[Case, int]]:
    """Load what is there before each case, and return them with what is added to their numbers."""
    placed = [(case, number * DISTANCE) for number, case in enumerate(cases)]
    for case, at in placed:
        made.at = at
        _populate(made)
        if case.prepare is not None:
            case.prepare(made)
    load(made.block())
    cache.reset()
    return placed


def differences(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Run each call on the same ledger, then ingest their transactions, and compare all rows, by case."""
    made = CaseStream()
    placed = prepared(cases, made)
    before = stored_rows()
    called = [_Called(case, at) for case, at in placed]
    for case, at in placed:
        made.at = at
        case.transaction(made)
    load(made.block())
    cache.reset()
    state, after = current(), stored_rows()
    ingested = {key for key in after if after[key] != before.get(key)}
    found = {}
    for number, each in enumerate(called):
        wrong = [f"it answers {each.answer}"] if each.failed() else list(each.wrong(state))
        alone = {key for key in ingested if each.at <= key[1] - 1000 < each.at + DISTANCE} - each.keys
        wrong += [f"changed by the transaction alone: {sorted(alone)}"] if alone else []
        if wrong:
            found[f"{number} {each.case.signature}"] = wrong
    return found
