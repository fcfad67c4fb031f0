"""The processes of a node import what they need, and no more."""

import subprocess
import sys

from django.conf import settings


def test_library_of_buckets_is_imported_only_where_it_is_used() -> None:
    program = (
        "import sys, django; django.setup(); import mirror.node.start.up; print('obstore' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"


def test_a_process_that_starts_others_does_not_import_grpc() -> None:
    program = """if True:
        import os, sys, django
        django.setup()
        import mirror.node.start.up, mirror.web.grpc.process
        print('grpc' in sys.modules)"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
