"""Relationships of accounts to tokens: associate, dissociate, freeze, KYC, reject."""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item, handles, names_entities, names_entity
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.hapi.transaction_types import NUMBERS, name
from tokens.models import TokenAccount

# freeze_status and kyc_status of token and token_account; null in the latter means the token's own status.
NOT_APPLICABLE = 0
FROZEN, UNFROZEN = 1, 2
GRANTED, REVOKED = 1, 2

FAIL_INVALID = 23
TOKEN_CREATION = NUMBERS["TOKENCREATION"]

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


names_entities(entity_id.from_account, **{kind: f"body.{field}.account" for kind, field in _BODIES.items()})


@handles("TOKENASSOCIATE", "TOKENDISSOCIATE")
def token_association(item: RecordItem, batch: Batch) -> None:
    """Associate an account with tokens, by the statuses of each token, or dissociate it.

    What it held of a deleted or expired token goes by transfer. Source: body.tokenAssociate, tokenDissociate.
    Rows: token_account version per token.
    """
    if not batch.persist.tokens or not item.entity_id:
        return
    time, account, begins = item.consensus_timestamp, item.entity_id, item.body.HasField("tokenAssociate")
    for message in (item.body.tokenAssociate if begins else item.body.tokenDissociate).tokens:
        token = entity_id.from_token(message)
        if begins:
            batch.upsert(TokenAccount, **association(item, account, token))
        else:
            batch.upsert(TokenAccount, since=time, account_id=account, token_id=token, associated=False)
        batch.mention(token)


@handles(*_STATUSES)
def token_status(item: RecordItem, batch: Batch) -> None:
    """Freeze or unfreeze a token for an account, or grant or revoke its KYC.

    Source: body.tokenFreeze, tokenUnfreeze, tokenGrantKyc, tokenRevokeKyc. Rows: token_account version.
    """
    if not batch.persist.tokens or not item.entity_id:
        return
    # BODY
    type_name = name(item.transaction_type)
    token = entity_id.from_token(getattr(item.body, _BODIES[type_name]).token)
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
    """Return the payer, or the owner the body names. Rejected tokens return by transfers (HIP-904)."""
    body = item.body.tokenReject
    return batch.lookup.account(body.owner) if body.HasField("owner") else item.payer_account_id


@every_item(Order.TOKEN_TRANSFERS)
def automatic_associations(item: RecordItem, batch: Batch) -> None:
    """Store the associations a transaction caused; those of a new token start with its creation.

    A transaction that ended with FAIL_INVALID may have caused some too.
    Source: record.automatic_token_associations. Rows: token_account version.
    """
    associations = item.record.automatic_token_associations
    if not associations or not batch.persist.tokens or item.transaction_type == TOKEN_CREATION:
        return
    if not (item.successful or item.result == FAIL_INVALID):
        return
    for message in associations:
        account = entity_id.from_account(message.account_id)
        token = entity_id.from_token(message.token_id)
        batch.upsert(TokenAccount, **association(item, account, token, automatic=True))
        batch.mention(account, token)


def association(item: RecordItem, account: int, token: int, *, automatic: bool = False) -> dict[str, Any]:
    """Return the columns of a relationship that starts with this item."""
    timestamp = item.consensus_timestamp
    return {
        "since": timestamp,
        "account_id": account,
        "token_id": token,
        "associated": True,
        "automatic_association": automatic,
        "balance": 0,
        "balance_timestamp": timestamp,
        "created_timestamp": timestamp,
    }


def move_balance(batch: Batch, account: int, token: int, amount: int, timestamp: int) -> None:
    """Add `amount` to the account's balance of the token, which starts no new version."""
    columns = {
        "account_id": account,
        "token_id": token,
        "associated": True,
        "balance": amount,
        "balance_timestamp": timestamp,
    }
    batch.changes_for(TokenAccount).add(columns, None)
