"""GET /api/v1/contracts and /api/v1/contracts/{contractIdOrAddress}: contracts with their code.

Source: entity and contract; at a time also entity_history; the bytecode of older contracts is the text of a
file (file_data). Errors: 400 malformed parameter or path; 404 no such contract, or none at the time.
"""

from typing import Any, TypedDict

from rest_framework.response import Response

from contracts.queries import contracts as queries
from ledger.api import not_loaded
from ledger.api.contract_names import (
    CONTRACT,
    ContractAddress,
    ContractName,
    OfContract,
    find_contracts,
    read_contract,
)
from ledger.queries import files
from ledger.queries.system_files import LAST_SYSTEM_FILE_NUM
from ledger.queries.versions_at import VersionRange
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, Comparison, compare
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import NotAnEntityId
from mirror.core.rest.parameters.parameter_set import InvalidValue, ParameterSet
from mirror.core.rest.views import ReadView
from mirror.core.values import entity_id, hexadecimal, timestamp
from mirror.core.values.json_types import (
    EntityId,
    EvmAddress,
    Hex,
    Int32,
    Int64,
    KeyJson,
    Timestamp,
    TimestampRangeJson,
    page_type,
)

_HEX_DIGITS = 40  # of an EVM address


# PARAMETERS
class ContractIdParameter(classic.EntityId):
    """A ContractName: an id in any form but 0x, or with eq alone an EVM address."""

    schema = {"type": "string"}
    out_of_range = CONTRACT

    def value_of(self, text: str) -> ContractName:
        if text.startswith("0x"):
            raise NotAnEntityId(text)
        return read_contract(text)

    def comparison(self, text: str, split: Any) -> Comparison:
        comparison = super().comparison(text, split)
        if comparison.operator != "eq" and len(text.rpartition(":")[2]) >= _HEX_DIGITS:
            raise InvalidValue(text)
        return comparison


class ContractsParameters(classic.PageParameters):
    contract_id = ContractIdParameter("contract.id", help="Contract id, or EVM address without 0x.")


class ContractParameters(ParameterSet):
    timestamp = classic.Timestamp("timestamp", help="Time of the contract's state.")


# QUERY
def chosen(names: list[Comparison]) -> list[Comparison]:
    """Return the comparisons with encoded ids. Errors: NotFound for an unknown address without a realm."""
    comparisons = find_contracts(names)
    for (_, name), (_, contract_id) in zip(names, comparisons, strict=True):
        if contract_id is None and "." not in name.text:
            raise NotFound(
                f"No contract with the given evm address 0x{name.text} has been found.",
                detail=not_loaded.entity(),
            )
    return comparisons


def bytecode(file_id: int | None, created: int | None, initcode: bytes | None) -> str:
    """Return the code a contract was created with, in hex: the text of its file then, or its initcode."""
    if file_id is not None and entity_id.decode(file_id)[2] > LAST_SYSTEM_FILE_NUM:
        content = files.content(file_id, MAX_INT64 if created is None else created)
        text = (content or b"").decode("utf-8", "replace")
        return text if text.startswith("0x") else f"0x{text}"
    return hexadecimal.text(initcode or b"")


# JSON
class ContractJson(TypedDict):
    admin_key: KeyJson | None
    auto_renew_account: EntityId | None
    auto_renew_period: Int64 | None
    contract_id: EntityId
    created_timestamp: Timestamp | None
    deleted: bool | None
    evm_address: EvmAddress
    expiration_timestamp: Timestamp | None
    file_id: EntityId | None
    max_automatic_token_associations: Int32 | None
    memo: str | None
    nonce: Int64 | None
    obtainer_id: EntityId | None
    permanent_removal: bool | None
    proxy_account_id: EntityId | None
    timestamp: TimestampRangeJson


class ContractWithCodeJson(ContractJson):
    bytecode: str
    runtime_bytecode: Hex


CONTRACT_RECORD = Record(
    ContractJson,
    of="e",
    admin_key="e.key",
    auto_renew_account="e.auto_renew_account_id",
    contract_id="e.id",
    evm_address=f"coalesce(nullif(e.evm_address, ''), {entity_id.long_zero_sql('e.id')})",
    expiration_timestamp="array[e.expiration_timestamp, e.created_timestamp, e.auto_renew_period]",
    file_id="c.file_id",
    nonce="e.ethereum_nonce",
    written={"expiration_timestamp": lambda times: timestamp.text(timestamp.expiry(times))},
)
_WITH_CODE = f"{CONTRACT_RECORD.columns}, c.file_id, e.created_timestamp, c.initcode, c.runtime_bytecode"


# VIEWS
class Contracts(ReadView):
    """List contracts.

    Newest first, without their code.
    """

    parameters, max_age, answers = ContractsParameters, 10, page_type("Contracts", contracts=ContractJson)
    paging = {"contract.id": "contract_id"}

    def read(self, parameters: ContractsParameters) -> Response:
        query = self.query.filter(compare("id", chosen(parameters.contract_id)))
        rows = queries.contracts(CONTRACT_RECORD.columns, query)
        return self.page("contracts", [CONTRACT_RECORD.json(row) for row in rows])


class ContractOfIdOrAddress(OfContract):
    """Get a contract with its code.

    With `timestamp` as it was at that time.
    """

    parameters, answers = ContractParameters, ContractWithCodeJson

    def read(self, parameters: ContractParameters, contract: str) -> ContractWithCodeJson:
        name = read_contract(contract)
        versions = (
            VersionRange.from_bounds(Bounds.combine(parameters.timestamp)) if parameters.timestamp else None
        )
        known = name.evm_address if isinstance(name, ContractAddress) else name
        row = not_loaded.found(queries.contract(_WITH_CODE, known, versions))
        *members, file_id, created, initcode, runtime_bytecode = row
        return {
            **CONTRACT_RECORD.json(members),
            "bytecode": bytecode(file_id, created, initcode),
            "runtime_bytecode": hexadecimal.text(runtime_bytecode or b""),
        }
