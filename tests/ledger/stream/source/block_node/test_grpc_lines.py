"""What the library under gRPC writes by itself."""

import os
import subprocess
import sys


def test_the_library_of_grpc_writes_no_lines_of_its_own():
    script = """
import mirror
import grpc
from concurrent.futures import ThreadPoolExecutor
one, other = (grpc.server(ThreadPoolExecutor(1), options=[("grpc.so_reuseport", 0)]) for _ in range(2))
port = one.add_insecure_port("127.0.0.1:0")
try:
    other.add_insecure_port(f"127.0.0.1:{port}")
except RuntimeError:
    print("taken")
"""
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}

    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )

    assert (ran.stdout, ran.stderr) == ("taken\n", "")
