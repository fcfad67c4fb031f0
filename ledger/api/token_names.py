"""The token in the path: `tokens/{tokenId}` and what is below it.

A number and a long-zero address stand for themselves, whether or not there is such a token. Another EVM
address stands for the entity that bears it now; an unknown one is no token id. Before any of them 0x counts
for nothing.
"""

from typing import Any

from ledger.api.account_names import find_account
from mirror.core.rest.answers.errors import InvalidParameter
from mirror.core.rest.parameters.entity_ids import read_entity_id, read_in_path
from mirror.core.rest.views import ReadView

_TOKEN = "tokenid"


def token_id(text: str) -> int:
    """Return the encoded id of the token that a path names. Errors: InvalidParameter."""
    token_id = find_account(read_in_path(read_entity_id, text.removeprefix("0x"), _TOKEN))
    if token_id is None:
        raise InvalidParameter(_TOKEN)
    return token_id


class OfToken(ReadView):
    """An endpoint of one token or below it. Its path part is `{tokenId}`; `read` gets `token_id`."""

    path_first = True

    def resolve(self, **path: str) -> dict[str, Any]:
        return {**path, "token_id": token_id(path["token_id"])}
