"""The counts of a test process, in a folder that no node and no other test process uses.

Pytest loads this before anything that counts.
"""

import atexit
import os
import shutil
import tempfile

_FOLDER = tempfile.mkdtemp(prefix="ledger-mirror-counts-")
os.environ["PROMETHEUS_MULTIPROC_DIR"] = _FOLDER
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)


def counted(name: str, **labels: str) -> float:
    """Return the sum of the series with these labels, in all processes."""
    from mirror.core import metrics

    samples = (sample for family in metrics.families() for sample in family.samples if sample.name == name)
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())
