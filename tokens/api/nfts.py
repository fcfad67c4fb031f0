"""GET /api/v1/tokens/{tokenId}/nfts, /nfts/{serialNumber} and /nfts/{serialNumber}/transactions.

Source: nft, with entity for the token's deletion; for the transactions also nft_history, and of each
transaction its nft_transfer. Errors: 400 malformed parameter, id or serial number; 404 no such serial. An
unknown token has no serials, and an unknown serial no transactions: empty lists.
"""

from typing import Any, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.api.token_names import OfToken
from mirror.core.rest.answers.errors import InvalidParameter
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import InvalidValue, NoParameters
from mirror.core.values import entity_id, timestamp, transaction_id
from mirror.core.values.hapi import transaction_types
from mirror.core.values.json_types import EntityId, Int32, Timestamp, TransactionId, page_type
from tokens.api.account_nfts import NFT, NftJson, NftsJson
from tokens.queries import nfts as queries
from tokens.queries.nfts import NftTransaction


# PARAMETERS
class SerialNumber(classic.Number):
    """A serial number; several are alternatives."""

    pages_equal = True


class NftParameters(classic.PageParameters):
    account_id = classic.EntityId(
        "account.id", column="account_id", any_equal=False, help="Owner of the serial."
    )
    serial_number = SerialNumber(
        "serialnumber", column="serial_number", low=1, help="Serial number; of several, any."
    )


class NftTransactionParameters(classic.PageParameters):
    timestamp = classic.Timestamp(
        "timestamp", column="lower(timestamp_range)", any_equal=False, help="Consensus timestamp."
    )


# JSON
class NftTransactionJson(TypedDict):
    consensus_timestamp: Timestamp | None
    nonce: Int32
    transaction_id: TransactionId | None
    type: str
    is_approval: bool
    receiver_account_id: EntityId | None
    sender_account_id: EntityId | None


def nft_transaction_json(
    transaction: NftTransaction, token_id: int, serial_number: int
) -> NftTransactionJson:
    """Without a transfer of the serial, as for an allowance, there is neither sender nor receiver."""
    of_token = [each for each in transaction.nft_transfer or () if each.get("token_id") == token_id]
    # A negative number stands for all serials that the transaction has moved.
    transfer: dict[str, Any] = next(
        (each for each in of_token if each.get("serial_number") == serial_number),
        next((each for each in of_token if each.get("serial_number", 0) < 0), {}),
    )
    return {
        "consensus_timestamp": timestamp.text(transaction.consensus_timestamp),
        "nonce": transaction.nonce,
        "transaction_id": transaction_id.text(transaction.payer_account_id, transaction.valid_start_ns),
        "type": transaction_types.name(transaction.type),
        "is_approval": bool(transfer.get("is_approval")),
        "receiver_account_id": entity_id.text(transfer.get("receiver_account_id")),
        "sender_account_id": entity_id.text(transfer.get("sender_account_id")),
    }


# VIEWS
class Nfts(OfToken):
    """List the NFTs of a token.

    Newest serial number first, each with its owner and metadata.
    """

    parameters, max_age, answers = NftParameters, 1, NftsJson
    paging = {"serialnumber": "serial_number"}

    def read(self, parameters: NftParameters, token_id: int) -> Response:
        serials = parameters.serial_number
        if len({serial for operator, serial in serials if operator == "eq"}) > 1:
            # The query has them; these bound the search by ranges.
            serials = [each for each in serials if each.operator != "eq"]
        rows, continue_at = queries.nfts(token_id, self.query, owners=parameters.account_id, serials=serials)
        return self.page("nfts", [NFT.json(row) for row in rows], after=continue_at)


class OfNft(OfToken):
    """An endpoint of one serial or below it; `read` gets `token_id` and `serial_number`."""

    def resolve(self, **path: str) -> dict[str, Any]:
        parts = super().resolve(**path)
        try:
            return {**parts, "serial_number": classic.read_number(path["serial_number"], 1)}
        except InvalidValue:
            raise InvalidParameter("serialnumber") from None


class Nft(OfNft):
    """Get an NFT by its serial number.

    With its owner, spender and metadata.
    """

    path_first, answers = False, NftJson

    def read(self, parameters: NoParameters, token_id: int, serial_number: int) -> NftJson:
        row = not_loaded.found(queries.nft(token_id, serial_number))
        return NFT.json(row)


class NftTransactions(OfNft):
    """List the transactions that changed an NFT.

    Its mint, transfers and end, newest first.
    """

    parameters, max_age = NftTransactionParameters, 1
    answers = page_type("NftTransactions", transactions=NftTransactionJson)
    paging = {"timestamp": "consensus_timestamp"}

    def read(self, parameters: NftTransactionParameters, token_id: int, serial_number: int) -> Response:
        transactions = queries.transactions(token_id, serial_number, self.query)
        rows = [nft_transaction_json(transaction, token_id, serial_number) for transaction in transactions]
        return self.page("transactions", rows)
