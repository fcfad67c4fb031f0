"""GET /api/v1/contracts/results/logs, also as /contracts/logs, and the same of one contract.

Source: contract_log, with entity and record_file. Errors: 400 malformed parameter or path, topics without a
closed range of time, an index without the time it belongs to. An unknown contract or address has no logs, and
an unknown transaction neither: an empty list.
"""

from collections.abc import Sequence

from rest_framework.response import Response

from contracts.api import formats
from contracts.api.result_json import LogJson, log_json
from contracts.queries import logs as queries
from contracts.queries.logs import ContractLog, LogSelection
from ledger.api.contract_names import OfContract, find_contract
from ledger.queries.timestamp_ranges import bound, nanoseconds
from mirror.core.db.reading.query import NO_PAIRS, Bounds, PairBounds, Query
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.paging.pairs import classic_pair
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import ONLY_EQ
from mirror.core.rest.parameters.query_string import Texts
from mirror.core.rest.views import Answer, ReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.ethereum import stripped
from mirror.core.values.json_types import EntityId, Hex, Int32, Int64, Timestamp, page_type
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

# The largest index that a log can have.
_LAST_INDEX = (1 << 31) - 1
_TOPICS = ("topic0", "topic1", "topic2", "topic3")
_NANOS_PER_UNIT = (("d", NANOS_PER_DAY), ("h", 3600 * NANOS_PER_SECOND), ("m", 60 * NANOS_PER_SECOND))


# PARAMETERS
class LogsOfContractParameters(classic.PageParameters):
    index = classic.Number("index", help="Place of the log in its block, within the range of time.")
    timestamp = classic.Timestamp("timestamp", help="Consensus timestamp.")
    topic0 = classic.Word("topic0", operators=ONLY_EQ, help="First topic: the event's signature hash.")
    topic1 = classic.Word("topic1", operators=ONLY_EQ, help="Second topic.")
    topic2 = classic.Word("topic2", operators=ONLY_EQ, help="Third topic.")
    topic3 = classic.Word("topic3", operators=ONLY_EQ, help="Fourth topic.")

    def __init__(self, texts: Texts, path: str = "") -> None:
        super().__init__(texts, path)
        self.timestamp = _merged(self.timestamp)
        if any(topics_of(self)):
            _check_closed(self.timestamp, because="Cannot search topics without a valid timestamp range: ")


class LogsParameters(LogsOfContractParameters):
    transaction_hash = classic.Hash("transaction.hash", help="Hash of the transaction.")


def _check_closed(comparisons: Sequence[Comparison], *, because: str) -> None:
    """Require one equality, or two bounds no further apart than configured. Errors: BadRequest."""
    problem = _problem_of(comparisons)
    if problem is not None:
        raise BadRequest(because + problem)


def _problem_of(comparisons: Sequence[Comparison]) -> str | None:
    if not comparisons:
        return "No timestamp range or eq operator provided"
    operators = set()
    for operator, _ in comparisons:
        side = operator[:2]
        if side == "ne":
            return "Not equals operator not supported for timestamp param"
        if side != "eq" and side in operators:
            return f"Multiple {side} or {side}e operators not permitted for timestamp param"
        operators.add(side)
    if operators == {"eq"}:
        return None
    if "eq" in operators:
        return "Cannot combine eq with ne, gt, gte, lt, or lte for timestamp param"
    bounds = Bounds.combine(comparisons)
    if bounds.lower is None or bounds.upper is None:
        return "Timestamp range must have gt (or gte) and lt (or lte), or eq operator"
    longest = nanoseconds("rest.query.maxTimestampRange")
    if bounds.empty or bounds.upper - bounds.lower > longest:
        return (
            "Timestamp range by the lower and upper bounds must be positive and within "
            f"{_duration_text(longest)}"
        )
    return None


def _duration_text(length: int) -> str:
    for unit, size in _NANOS_PER_UNIT:
        if length % size == 0:
            return f"{length // size}{unit}"
    return f"{length / NANOS_PER_SECOND:g}s"


def log_bounds(parameters: LogsOfContractParameters) -> PairBounds:
    """Return the range of times and indexes of a request. Errors: BadRequest."""
    return classic_pair(
        parameters, "timestamp", "index", equal_within_equal=True, sent_once=("transaction.hash",)
    )


def _merged(timestamps: list[Comparison]) -> list[Comparison]:
    """Return bounds in which a lower and an upper bound that leave one value are an equality."""
    if len(timestamps) == 2 and {operator for operator, _ in timestamps} == {"gte", "lte"}:
        lower, upper = timestamps
        if lower.value == upper.value:
            return [Comparison("eq", lower.value)]
    return timestamps


def topics_of(parameters: LogsOfContractParameters) -> list[list[bytes]]:
    """Return the values of each topic as stored: without leading zeros, a zero as one byte or none."""
    topics: list[list[Comparison]] = [getattr(parameters, name) for name in _TOPICS]
    return [
        [topic for _, word in comparisons for topic in ((stripped(word),) if word else (b"", b"\0"))]
        for comparisons in topics
    ]


# QUERY
def log_rows(
    parameters: LogsOfContractParameters, bounds: PairBounds, query: Query, contract_id: int | None = None
) -> tuple[list[ContractLog], int | None]:
    """Return a page of logs, and the time after which it continues if it came to no end."""
    return queries.logs(
        bounds,
        query,
        LogSelection(contract_id, topics_of(parameters)),
        max_block_ns=nanoseconds("rest.query.maxRecordFileCloseInterval"),
    )


# JSON
class FullLogJson(LogJson):
    block_hash: Hex
    block_number: Int64 | None
    root_contract_id: EntityId | None
    timestamp: Timestamp | None
    transaction_hash: Hex
    transaction_index: Int32 | None


def full_log_json(log: ContractLog) -> Answer:
    answer = log_json((log.evm_address, log.bloom, log.contract_id, log.data, log.number, *log.topics))
    answer["block_hash"] = f"0x{log.block_hash or ''}"
    answer["block_number"] = log.block_number
    answer["root_contract_id"] = entity_id.text(log.root_contract_id)
    answer["timestamp"] = timestamp.text(log.consensus_timestamp)
    answer["transaction_hash"] = formats.plain(log.transaction_hash)
    answer["transaction_index"] = log.transaction_index
    return answer


LogsJson = page_type("Logs", logs=FullLogJson)


# VIEWS
def paging_of(parameters: LogsOfContractParameters) -> dict[str, str]:
    """Return the parameters a next link may change; the time stays where two bounds leave one."""
    merged = len(parameters.texts.get("timestamp", ())) > 1 and len(parameters.timestamp) == 1
    if not merged:
        return {"timestamp": "timestamp", "index": "index"}
    if any(operator == "eq" for operator, _ in parameters.index):
        return {}
    return {"index": "index"}


class LogsView(ReadView):
    """A list of logs."""

    def logs(self, rows: list[ContractLog], seen_until: int | None) -> Response:
        """Answer a page; if it came to no end, the next one has what is after all logs of a time."""
        if seen_until is not None:
            last_index = 0 if self.query.descending else _LAST_INDEX
            self.continue_after(timestamp=timestamp.text(seen_until), index=last_index)
        return self.page("logs", [full_log_json(row) for row in rows])


class Logs(LogsView):
    """List the logs of all contracts.

    Newest first. Topics need a range of `timestamp` with both ends.
    """

    parameters, max_age, answers = LogsParameters, 10, LogsJson

    def read(self, parameters: LogsParameters) -> Response:
        bounds = log_bounds(parameters)
        self.paging = paging_of(parameters)
        if parameters.transaction_hash:
            bounds = self._transaction_bounds(parameters, bounds)
        elif bounds.first.empty:
            # Clients expect no error for a range that ends before it starts.
            bounds = PairBounds(Bounds(), Bounds())
        timestamps, continue_at = bound(bounds.first, descending=self.query.descending)
        if continue_at is not None:
            bounds = _up_to(timestamps, bounds, descending=self.query.descending)
        rows, seen_until = log_rows(parameters, bounds, self.query)
        if seen_until is None and continue_at is not None and len(rows) < self.query.limit:
            self.continue_after(timestamp=timestamp.text(continue_at), index=0)
        return self.logs(rows, seen_until)

    def _transaction_bounds(self, parameters: LogsParameters, bounds: PairBounds) -> PairBounds:
        digest = bytes.fromhex(parameters.transaction_hash[0].value)
        at = queries.time_of_hash(digest, bounds.first, descending=self.query.descending)
        return NO_PAIRS if at is None else PairBounds(Bounds(equal=frozenset({at})), bounds.second)


def _up_to(timestamps: Bounds, bounds: PairBounds, *, descending: bool) -> PairBounds:
    """Return the bounds cut at one end, where only the logs before the start of the next page count."""
    second = bounds.second
    cut = second.between(0, second.upper) if descending else second.between(second.lower, 0)
    return PairBounds(timestamps, cut)


class LogsOfContract(LogsView, OfContract):
    """List the logs of a contract.

    Newest first; topics narrow the list.
    """

    parameters, answers = LogsOfContractParameters, LogsJson

    def read(self, parameters: LogsOfContractParameters, contract: str) -> Response:
        contract_id = find_contract(contract)
        if contract_id is None:
            return self.logs([], None)
        bounds = log_bounds(parameters)
        self.paging = paging_of(parameters)
        return self.logs(*log_rows(parameters, bounds, self.query, contract_id))
