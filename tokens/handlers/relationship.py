"""Token service, an account's relationship to tokens: associate, freeze, KYC, reject.

Which account a transaction is about.
"""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id
from mirror.values.transaction_types import name

_BODIES = {
    "TOKENASSOCIATE": "tokenAssociate",
    "TOKENDISSOCIATE": "tokenDissociate",
    "TOKENFREEZE": "tokenFreeze",
    "TOKENUNFREEZE": "tokenUnfreeze",
    "TOKENGRANTKYC": "tokenGrantKyc",
    "TOKENREVOKEKYC": "tokenRevokeKyc",
}


@names_entity(*_BODIES)
def account_of_body(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_account(getattr(item.body, _BODIES[name(item.transaction_type)]).account)


@names_entity("TOKENREJECT")
def rejecting_account(item: RecordItem, rows: Batch) -> int:
    """The payer, unless the body names another owner."""
    body = item.body.tokenReject
    return rows.lookup.account(body.owner) if body.HasField("owner") else item.payer_account_id
