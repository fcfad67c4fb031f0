"""Token service, the token itself: create, update, delete, fee schedule, pause, supply, metadata of serials.

Which token a transaction is about.
"""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id
from mirror.values.transaction_types import name


@names_entity("TOKENCREATION")
def created_token(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_token(item.record.receipt.tokenID)


@names_entity("TOKENFEESCHEDULEUPDATE")
def fee_schedule_token(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_token(item.body.token_fee_schedule_update.token_id)


_BODIES = {
    "TOKENUPDATE": "tokenUpdate",
    "TOKENDELETION": "tokenDeletion",
    "TOKENMINT": "tokenMint",
    "TOKENBURN": "tokenBurn",
    "TOKENWIPE": "tokenWipe",
    "TOKENPAUSE": "token_pause",
    "TOKENUNPAUSE": "token_unpause",
    "TOKENUPDATENFTS": "token_update_nfts",
}


@names_entity(*_BODIES)
def token_of_body(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_token(getattr(item.body, _BODIES[name(item.transaction_type)]).token)
