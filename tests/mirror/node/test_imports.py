"""The processes of a node import what they need, and no more."""

import json
import subprocess
import sys

import pytest
from django.conf import settings


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules of a process that starts the others of a node."""
    program = """if True:
        import json, sys, django
        django.setup()
        import mirror.start.up, mirror.web.grpc.process, mirror.urls
        import mirror.upgrade.runner, mirror.operations.retention.pruning
        print(json.dumps([*sys.modules]))"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "library", ["obstore", "grpc", "requests", "pygments.formatters", "eth_abi", "mirror.demo"]
)
def test_library_is_imported_only_where_it_is_used(imported: set[str], library: str) -> None:
    assert library not in imported
    assert "rest_framework.compat" in imported
