"""GET /api/v1/blocks and /api/v1/blocks/{hashOrNumber}: record files as blocks.

Source: record_file. The timestamp parameter is compared with the end of a block alone.
Errors: 400 malformed parameter, number or hash; 404 no such block.
"""

import re
from typing import TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.queries import blocks as queries
from mirror.core.rest.answers.errors import InvalidParameter, NotFound
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE, InvalidValue, NoParameters
from mirror.core.rest.views import ReadView
from mirror.core.values import hexadecimal
from mirror.core.values.json_types import Hex, Int32, Int64, TimestampRangeJson, page_type

_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{96})")
_BLOOM_DIGITS = 512

# The parameter that comes first in a request decides the order.
_ORDERED_BY = {"block.number": "index", "timestamp": "consensus_end"}


# PARAMETERS
class BlockParameters(classic.PageParameters):
    block_number = classic.BlockNumber(
        "block.number",
        operators=WITHOUT_NE,
        any_equal=False,
        help="Block number, decimal or with 0x hexadecimal.",
    )
    timestamp = classic.Timestamp("timestamp", any_equal=False, help="Consensus end of the block.")


# JSON
class BlockJson(TypedDict):
    count: Int64
    hapi_version: str | None
    hash: Hex
    name: str
    number: Int64
    previous_hash: Hex
    size: Int32 | None
    timestamp: TimestampRangeJson
    gas_used: Int64 | None
    logs_bloom: Hex | None


def _hash(digits: str) -> str:
    return f"0x{digits}"


def _bloom(bloom: bytes | None) -> str | None:
    return f"0x{bloom.hex():0>{_BLOOM_DIGITS}}" if bloom else hexadecimal.text(bloom)


BLOCK = Record(
    BlockJson,
    hapi_version="hapi_version_major || '.' || hapi_version_minor || '.' || hapi_version_patch",
    number="index",
    previous_hash="prev_hash",
    size="coalesce(size, length(bytes))",
    timestamp="consensus_start, consensus_end",
    gas_used="nullif(gas_used, -1)",
    written={"hash": _hash, "previous_hash": _hash, "logs_bloom": _bloom},
)


# VIEWS
class Blocks(ReadView):
    """List blocks.

    Each is a record file with its number, hash, times, gas and bloom filter.
    """

    parameters, max_age, answers = BlockParameters, 1, page_type("Blocks", blocks=BlockJson)
    paging = {"block.number": "number"}

    def read(self, parameters: BlockParameters) -> Response:
        first = next((name for name in parameters.texts if name in _ORDERED_BY), "timestamp")
        numbers, times = parameters.block_number, parameters.timestamp
        rows = queries.blocks(BLOCK.columns, self.query, by=_ORDERED_BY[first], numbers=numbers, times=times)
        return self.page("blocks", [BLOCK.json(row) for row in rows])


class Block(ReadView):
    """Get a block by its number or hash.

    The first 32 bytes of the hash are enough.
    """

    max_age, answers = 600, BlockJson

    def read(self, parameters: NoParameters, hash_or_number: str) -> BlockJson:
        if digest := _HASH.fullmatch(hash_or_number):
            row, number = queries.block_of_hash(BLOCK.columns, digest[1].lower()), None
        else:
            try:
                number = classic.read_number(hash_or_number)
            except InvalidValue:
                raise InvalidParameter("hashOrNumber") from None
            row = queries.block_of_number(BLOCK.columns, number)
        if row is None:
            raise NotFound(detail=not_loaded.anything(None) if number is None else not_loaded.block(number))
        return BLOCK.json(row)
