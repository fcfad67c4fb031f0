"""GET /api/v1/contracts/results and /contracts/{contractIdOrAddress}/results, each with one result below it.

Source: contract_result, with entity for addresses; full results also with ethereum_transaction, record_file,
contract_log and contract_state_change. Without an Ethereum transaction the price of gas is that of the files
0.0.111 and 0.0.112. Prices and amounts: tinybars, or weibars if `hbar` is false.
Gas: units of gas. Errors: 400 malformed parameter, path, id or hash; 404 unknown sender, and no such result.
An unknown contract or address has no results: an empty list.

Transactions with a wrong nonce never ran: the lists leave them out. A transaction with logs that no contract
made has a synthetic result, in the lists and by each of its names.
"""

from typing import Any

from rest_framework.response import Response

from contracts.api.lookup import not_found, search_of
from contracts.api.result_json import (
    Form,
    FullResultJson,
    ResultJson,
    ResultWithLogsJson,
    base_json,
    full_json,
)
from contracts.queries import results as queries
from contracts.queries.results import ResultSelection
from contracts.queries.searches import Search, by_time
from ledger.api import not_loaded
from ledger.api.account_names import only
from ledger.api.contract_names import OfContract, find_contract
from ledger.queries.entities import ids_of_evm_addresses
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import MAX_INT64, Comparison
from mirror.core.rest.answers.errors import BadRequest, InvalidParameter, NotFound
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import EvmAddress, NotAnEntityId, read_entity_id
from mirror.core.rest.parameters.parameter_set import ONLY_EQ, InvalidValue, InvalidValueMessage, ParameterSet
from mirror.core.rest.parameters.query_string import Texts
from mirror.core.rest.views import Answer, ReadView
from mirror.core.values import timestamp
from mirror.core.values.json_types import page_type


# PARAMETERS
class SenderParameter(classic.EntityId):
    """The sender of a call: an entity id, or an EVM address without shard and realm."""

    out_of_range = "from"

    def value_of(self, text: str) -> int | EvmAddress:
        if "." in text and len(text.rpartition(".")[2]) >= _HEX_DIGITS:
            raise NotAnEntityId(text)
        return read_entity_id(text)


class HbarParameter(classic.Boolean):
    """The unit of amounts: tinybars, or if false weibars, 10^10 of which are a tinybar. No operators."""

    def __init__(self) -> None:
        super().__init__(
            "hbar", True, help="Amounts and gas prices in tinybars (true) or in weibars (false)."
        )

    def comparison(self, text: str, split: Any) -> Comparison:
        comparison = super().comparison(text, split)
        if text.lower() not in self.choices:
            raise BadRequest(_not_hbar(text))
        return comparison


class HbarAtParameter(HbarParameter):
    """The same for the result at a time, where a wrong value always has the longer message."""

    def comparison(self, text: str, split: Any) -> Comparison:
        try:
            return super().comparison(text, split)
        except (InvalidValue, BadRequest):
            raise InvalidValueMessage(_not_hbar(text)) from None


def _not_hbar(text: str) -> str:
    return f"Invalid hbar parameter value: {text}. Must be 'true' or 'false'"


class InternalParameter(classic.Boolean):
    """The choice to show the results of child transactions too."""

    def __init__(self) -> None:
        super().__init__("internal", False, help="Whether to show child transactions too.")

    def filter(self, query: Query, value: bool) -> Query:  # type: ignore[override]
        return query if value else query.filter(queries.not_internal())


class ResultsParameters(classic.PageParameters):
    block_hash = classic.Hash("block.hash", help="Hash of the block, or its first 32 bytes.")
    block_number = classic.BlockNumber("block.number", operators=ONLY_EQ, help="Number of the block.")
    hbar = HbarParameter()
    sender = SenderParameter("from", help="Sender of the call.")
    internal = InternalParameter()
    timestamp = classic.Timestamp("timestamp", help="Consensus timestamp.")
    transaction_index = classic.Number(
        "transaction.index",
        column="transaction_index",
        operators=ONLY_EQ,
        help="Place of the transaction in the block.",
    )

    def __init__(self, texts: Texts, path: str = "") -> None:
        super().__init__(texts, path)
        if self.block_hash and self.block_number:
            raise BadRequest(f"{_USAGE}block.hash - cannot combine block.number and block.hash")
        if self.transaction_index and not (self.block_hash or self.block_number):
            raise BadRequest(
                f"{_USAGE}transaction.index - transaction.index requires block.number or block.hash filter "
                "to be specified"
            )


class ResultsOfContractParameters(ResultsParameters):
    """The same, but `hbar` may have an operator here."""

    hbar = classic.Boolean("hbar", True, help="Amounts in tinybars (true) or in weibars (false).")


class ResultOfTransactionParameters(ParameterSet):
    strict = True

    hbar = HbarParameter()
    nonce = classic.Nonce()


class ResultAtParameters(ParameterSet):
    strict = True

    hbar = HbarAtParameter()


_HEX_DIGITS = 40  # of an EVM address
_USAGE = "Invalid parameter usage: "


# QUERY
def selection_of(parameters: ResultsParameters, contract_id: int | None = None) -> ResultSelection:
    """Return what the parameters select. Errors: NotFound for an unknown sender."""
    block = None
    if parameters.block_hash or parameters.block_number:
        block = (parameters.block_hash or parameters.block_number)[-1].value
    return ResultSelection(
        Bounds.combine(parameters.timestamp),
        block,
        contract_id,
        _senders_of(parameters),
        parameters.transaction_index,
    )


def _senders_of(parameters: ResultsParameters) -> Bounds | None:
    """Return the senders, None if any will do. Errors: NotFound for an unknown address."""
    if not parameters.sender:
        return None
    addresses = [bytes(name) for _, name in parameters.sender if isinstance(name, EvmAddress)]
    ids = ids_of_evm_addresses(addresses) if addresses else {}
    if any(address not in ids for address in addresses):
        raise NotFound(detail=not_loaded.entity())
    return Bounds.combine(
        Comparison(operator, only(ids[bytes(name)]) if isinstance(name, EvmAddress) else name)
        for operator, name in parameters.sender
    )


# JSON
def single_json(search: Search, in_tinybars: bool, *, contract_id: int = 0) -> Answer:
    """Return the result of a transaction; `contract_id` if the path names one. Errors: NotFound."""
    found = queries.result_of(search, contract_id=contract_id)
    if found is None:
        raise not_found(search)
    result, details, native = found
    return full_json(result, Form.configured(in_tinybars, native), details)


# VIEWS
class ResultsOfContract(OfContract):
    """List the results of the calls of a contract.

    Its creation is among them, and of a token the transfers and approvals that no contract made.
    """

    parameters = ResultsOfContractParameters
    answers = page_type("ResultsOfContract", results=ResultJson)
    paging = {"timestamp": "timestamp"}

    def read(self, parameters: ResultsOfContractParameters, contract: str) -> Response:
        contract_id = find_contract(contract)
        if contract_id is None:
            return self.page("results", [])
        rows, continue_at = queries.results(selection_of(parameters, contract_id), self.query)
        results = [base_json(row, in_tinybars=parameters.hbar) for row in rows]
        return self.page("results", results, after=timestamp.text(continue_at))


class Results(ReadView):
    """List the results of contract calls and creations.

    Transfers and approvals of tokens that no contract made are among them, as synthetic results.
    `internal=true` adds calls that other calls made.
    """

    parameters, max_age = ResultsParameters, 10
    answers = page_type("Results", results=FullResultJson)
    paging = {"timestamp": "timestamp"}

    def read(self, parameters: ResultsParameters) -> Response:
        rows, native, continue_at = queries.full_results(selection_of(parameters), self.query)
        form = Form.configured(parameters.hbar, native)
        results = [full_json(row, form) for row in rows]
        return self.page("results", results, after=timestamp.text(continue_at))


class ResultOfTransaction(ReadView):
    """Get the result of a contract transaction by its id or hash.

    With its logs and state changes; the hash is that of Ethereum tools, or the ledger's.
    """

    parameters, max_age, answers = ResultOfTransactionParameters, 600, ResultWithLogsJson

    def read(self, parameters: ResultOfTransactionParameters, transaction_id_or_hash: str) -> Answer:
        nonce: Any = parameters.nonce or 0
        return single_json(search_of(transaction_id_or_hash, nonce), parameters.hbar)


class ResultAt(OfContract):
    """Get the result of a contract at a consensus timestamp.

    With its logs and state changes.
    """

    parameters, max_age, answers = ResultAtParameters, 600, ResultWithLogsJson

    def resolve(self, **path: str) -> dict[str, Any]:
        problems = []
        resolved: dict[str, Any] = {}
        try:
            resolved |= super().resolve(contract_id_or_address=path["contract_id_or_address"])
        except InvalidParameter as invalid:
            problems += invalid.problems
        try:
            resolved["time"] = timestamp.parse(path["timestamp"])
        except timestamp.InvalidTimestamp:
            problems += InvalidParameter("timestamp").problems
        if problems:
            raise BadRequest(*problems)
        return resolved

    def read(self, parameters: ResultAtParameters, contract: str, time: int) -> Answer:
        contract_id = find_contract(contract)
        if contract_id is None or time > MAX_INT64:
            raise NotFound(detail=not_loaded.entity() if contract_id is None else None)
        return single_json(by_time(time, contract_id), parameters.hbar, contract_id=contract_id)
