"""Reports of an outage."""

import errno
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mirror.core.db.availability import outage
from tests.linux import linux_only
from tests.waiting import wait_until


@linux_only
def test_full_disk_does_not_fail_a_request_that_reports_an_outage(
    tmp_path: Path, settings: Any, transactional_db: None
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "database-outage").symlink_to("/dev/full")
    with pytest.raises(OSError) as full:
        (tmp_path / "database-outage").write_text(".")
    assert full.value.errno == errno.ENOSPC

    outage.report(psycopg.OperationalError("away"), request=True)
    wait_until(lambda: not outage._writing)
