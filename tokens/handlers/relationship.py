"""Token service, an account's relationship to tokens: associate, dissociate, freeze, KYC, reject."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import handles, names_entity
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from mirror.values.transaction_types import name
from tokens.handlers.statuses import FROZEN, GRANTED, REVOKED, UNFROZEN
from tokens.models import TokenAccount

_BODIES = {
    "TOKENASSOCIATE": "tokenAssociate",
    "TOKENDISSOCIATE": "tokenDissociate",
    "TOKENFREEZE": "tokenFreeze",
    "TOKENUNFREEZE": "tokenUnfreeze",
    "TOKENGRANTKYC": "tokenGrantKyc",
    "TOKENREVOKEKYC": "tokenRevokeKyc",
}
_STATUSES = {
    "TOKENFREEZE": {"freeze_status": FROZEN},
    "TOKENUNFREEZE": {"freeze_status": UNFROZEN},
    "TOKENGRANTKYC": {"kyc_status": GRANTED},
    "TOKENREVOKEKYC": {"kyc_status": REVOKED},
}


@names_entity(*_BODIES)
def account_of_body(item: RecordItem, batch: Batch) -> int:
    return entity_id.of_account(getattr(item.body, _BODIES[name(item.transaction_type)]).account)


@handles("TOKENASSOCIATE")
def token_associate(item: RecordItem, batch: Batch) -> None:
    """The account may hold these tokens; its relationship starts anew, with the token's own statuses.

    Source: body.tokenAssociate. Rows: token_account version per token.
    """
    if not batch.persist.tokens or not item.entity_id:
        return
    at = item.consensus_timestamp
    for given in item.body.tokenAssociate.tokens:
        token = entity_id.of_token(given)
        batch.upsert(
            TokenAccount,
            since=at,
            account_id=item.entity_id,
            token_id=token,
            associated=True,
            automatic_association=False,
            balance=0,
            balance_timestamp=at,
            created_timestamp=at,
        )
        batch.mention(token)


@handles("TOKENDISSOCIATE")
def token_dissociate(item: RecordItem, batch: Batch) -> None:
    """The account holds these tokens no longer; what it had of a deleted or expired token goes by transfer.

    Source: body.tokenDissociate. Rows: token_account version per token.
    """
    if not batch.persist.tokens or not item.entity_id:
        return
    for given in item.body.tokenDissociate.tokens:
        token = entity_id.of_token(given)
        batch.upsert(
            TokenAccount,
            since=item.consensus_timestamp,
            account_id=item.entity_id,
            token_id=token,
            associated=False,
        )
        batch.mention(token)


@handles(*_STATUSES)
def token_status(item: RecordItem, batch: Batch) -> None:
    """The account may or may not move the token, or is or is no longer known to its issuer.

    Source: body.tokenFreeze, tokenUnfreeze, tokenGrantKyc, tokenRevokeKyc. Rows: token_account version.
    """
    if not batch.persist.tokens or not item.entity_id:
        return
    # BODY
    type_name = name(item.transaction_type)
    token = entity_id.of_token(getattr(item.body, _BODIES[type_name]).token)
    # ROWS
    batch.upsert(
        TokenAccount,
        since=item.consensus_timestamp,
        account_id=item.entity_id,
        token_id=token,
        associated=True,
        **_STATUSES[type_name],
    )
    batch.mention(token)


@names_entity("TOKENREJECT")
def rejecting_account(item: RecordItem, batch: Batch) -> int:
    """The payer, unless the body names another owner. What is rejected returns by transfers (HIP-904)."""
    body = item.body.tokenReject
    return batch.lookup.account(body.owner) if body.HasField("owner") else item.payer_account_id
