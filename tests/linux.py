"""Tests of what only Linux does, or shows of a process."""

from pathlib import Path

import pytest

linux_only = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux does or shows this")
