"""GET /api/v1/transactions/{transactionId}/stateproof: proof that the network agreed on a transaction.

Source: record_file and the address book of the time; the file itself and the nodes' signatures from where
nodes publish or this node archives them (`ledger.state_proofs`). Bytes are base64.
Errors: 400 malformed id or parameter; 404 no successful transaction of that id, and for everything while
`rest.stateproof.enabled` is false; 502 the signed files can't be had; 503 too many proofs are being made.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from ledger.api import not_loaded
from ledger.portable_proofs.documents import BlockProofJson, StateProofJson
from ledger.state_proofs import Busy, NoProof, NotFetched, NotStored
from mirror.core import config, logs
from mirror.core.rest.answers.errors import Failure, NotFound
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import read_transaction_id
from mirror.core.rest.parameters.parameter_set import ParameterSet
from mirror.core.rest.views import ReadView, UnknownRoute

# Of a block before a transaction; anybody may ask for it.
_MAX_BYTES_BEFORE = 16 * 1024 * 1024

log = logs.logger(__name__)


# PARAMETERS
class StateProofParameters(ParameterSet):
    nonce = classic.Nonce()
    scheduled = classic.Boolean(
        "scheduled", False, help="The execution of a schedule, instead of a transaction of a client."
    )


# FAILURES
class BadGateway(Failure):
    """502 for files that can't be had from where they are published."""

    status = HTTPStatus.BAD_GATEWAY


class TooBusy(Failure):
    """503 for a proof while too many others are being made."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


# VIEW
class StateProof(ReadView):
    """Get a proof that the network has agreed on a transaction.

    It can be checked without any node: by an address book if the transaction is in a record file, by the
    ledger that the network has published if it is in a block. Of the transactions of an id the successful one
    with the nonce is proved.
    """

    parameters, max_age, answers = StateProofParameters, 600, StateProofJson | BlockProofJson
    enabled_by = "rest.stateproof.enabled"
    failures: ClassVar[tuple[HTTPStatus, ...]] = (
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
    )

    def dispatch(self, request: Any, *args: Any, **path: str) -> Any:
        if not config.value(self.enabled_by):
            return UnknownRoute.as_view({"get": "retrieve"})(request, **path)
        return super().dispatch(request, *args, **path)

    def read(self, parameters: StateProofParameters, transaction_id: str) -> Mapping[str, object]:
        # What reads stream files takes 5 MB, which most web servers have no use for.
        from ledger.state_proofs import state_proof

        payer, valid_start = read_transaction_id(transaction_id)
        nonce: Any = parameters.nonce or 0
        try:
            location = state_proof.find(payer, valid_start, nonce, parameters.scheduled)
            return state_proof.document(location, max_before=_MAX_BYTES_BEFORE)
        except NotStored as error:
            raise NotFound(str(error), detail=not_loaded.transaction(valid_start)) from None
        except Busy as error:
            raise TooBusy(str(error)) from None
        except NoProof as error:
            if isinstance(error, NotFetched) and error.details:
                log.warning("state_proof_not_fetched", reason=str(error), details=error.details)
            raise BadGateway(str(error)) from None
