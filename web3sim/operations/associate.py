"""TokenAssociate: relationships of an account with tokens."""

from collections.abc import Sequence

from web3sim.engine.interface import Address
from web3sim.operations.refusals import Refused
from web3sim.operations.signers import Signers
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Associations, Relationship


def associate(ledger: Overlay, signers: Signers, address: Address, tokens: Sequence[Address]) -> None:
    """Associate the account at an address with the tokens at some addresses. Errors: Refused."""
    account = ledger.account_at(address)
    if account is None:
        raise Refused("INVALID_ACCOUNT_ID")
    if len(set(tokens)) < len(tokens):
        raise Refused("TOKEN_ID_REPEATED_IN_TOKEN_LIST")
    if not signers.has_signed(account):
        raise Refused("INVALID_SIGNATURE")
    for token_address in tokens:
        token = ledger.token_at(token_address)
        if token is None:
            raise Refused("INVALID_TOKEN_ID")
        if token.pause_status == "PAUSED":
            raise Refused("TOKEN_IS_PAUSED")
        if ledger.relationship(token, account.id) is not None:
            raise Refused("TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT")
        add_relationship(ledger, Relationship(account.id, token.id, 0, token.freeze_status, token.kyc_status))


def add_relationship(ledger: Overlay, relationship: Relationship) -> None:
    """Associate; the caller has made sure that the account may be, and is not yet."""
    counts = ledger.associations(relationship.account_id)
    ledger.put_relationship(relationship)
    ledger.put_associations(
        relationship.account_id,
        Associations(counts.all + 1, counts.automatic + relationship.automatic, counts.positive),
    )
