"""The index of synthetic logs, which `manage.py upgrade` builds while the API is served.

Without it the list of all results would read the logs from the newest to the oldest for a page.
"""

import time

from mirror.db.sql import fetch

_LOOK_AGAIN_SECONDS = 5
_IS_BUILT = """
    select exists (
        select from pg_index
        where indexrelid = to_regclass('contract_log__synthetic_timestamp') and indisvalid)"""

# The monotonic time up to which the answer holds; without end once the index is there.
_holds_until = 0.0
_built = False


def is_built() -> bool:
    """Return whether queries can use the index; remembered, and looked up again while it is missing."""
    global _built, _holds_until
    if time.monotonic() >= _holds_until:
        ((_built,),) = fetch(_IS_BUILT)
        _holds_until = float("inf") if _built else time.monotonic() + _LOOK_AGAIN_SECONDS
    return _built


def forget() -> None:
    """Look the index up again."""
    global _holds_until
    _holds_until = 0.0
