"""The events of the log, in tests."""

from typing import Any

import pytest


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the keys of each event since the test began; lines of libraries have none of ours."""
    return [record.msg for record in caplog.records if isinstance(record.msg, dict)]
