"""Counts of several processes, added up."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror.core.config.errors import OperatorError
from mirror.core.metrics import exposition, files
from mirror.core.metrics.types import METRICS, Counter, Gauge, Histogram

_APART = """
import os, sys, django
from django.conf import settings
settings.configure(DATA_DIR=sys.argv[1])
from mirror.core.metrics import files
from mirror.core.metrics.types import Counter, Gauge, Histogram
eaten, hungry = Counter("test_eaten_total", "", ("what",)), Gauge("test_hungry", "")
bites = Histogram("test_bites", "", (), (1.0, 2.0))
eaten.add("apples", by=2)
eaten.add("pears")
hungry.set({(): 3})
bites.observe(1.0)
bites.observe(5.0)
files.start_writing("eater")
print("begun", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def metrics(settings, tmp_path, monkeypatch):
    """The same metrics in this process, and no others."""
    settings.DATA_DIR = tmp_path
    for name in list(METRICS):
        monkeypatch.delitem(METRICS, name)
    yield (
        Counter("test_eaten_total", "Eaten.", ("what",)),
        Gauge("test_hungry", "Hungry."),
        Histogram("test_bites", "Bites.", (), (1.0, 2.0)),
    )


@pytest.fixture
def eater(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", _APART, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    yield process
    process.stdin.close()
    process.wait()
    process.stdout.close()


def test_counts_of_processes_are_added_also_of_one_that_was_killed(metrics, eater, tmp_path: Path):
    counter, gauge, histogram = metrics
    counter.add("apples", by=5)
    gauge.set({(): 1})
    histogram.observe(1.5)
    files.Writer("other").write()

    counts = files.read()

    assert counts.processes == (("eater", eater.pid), ("other", os.getpid()))
    assert counts.values == {
        "test_eaten_total": {("apples",): 7, ("pears",): 1},
        "test_hungry": {(): 4},
        "test_bites": {(): [7.5, 1, 1, 1]},
    }

    eater.kill()
    eater.wait()

    for _ in range(2):
        ended = files.read()
        assert ended.processes == (("other", os.getpid()),)
        assert ended.values == {**counts.values, "test_hungry": {(): 1}}
    assert not list((tmp_path / "metrics").glob(f"{eater.pid}-*"))


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of an older release, which any user may read and change."""
    before = os.umask(0)
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "ended.json").write_text("{}")
    (folder / "other").symlink_to(tmp_path)
    yield folder
    os.umask(before)


def test_only_the_user_of_the_node_reads_and_changes_its_counts(open_folder, metrics, eater):
    files.Writer("other").write()
    files.read()

    modes = {path.name: path.lstat().st_mode & 0o777 for path in open_folder.iterdir()}
    assert open_folder.stat().st_mode & 0o777 == 0o700
    assert {"ended.json", "lock"} < modes.keys() and "other" not in modes
    assert set(modes.values()) == {0o600}


def test_link_in_place_of_the_folder_is_refused(metrics, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "metrics").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OperatorError, match="metrics is a link, or another user's"):
        files.start_writing("other")


def test_a_fork_counts_nothing_of_its_parent(metrics):
    counter, _, _ = metrics
    counter.add("apples")
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, repr(counter.values()).encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(reader, 100) == b"{}"
    assert counter.values() == {("apples",): 1}
    os.close(reader)
    os.close(writer)


def test_the_file_of_a_process_that_counts_nothing_new_gets_a_new_time(metrics, tmp_path: Path):
    writer = files.Writer("other")
    writer.write()
    (file,) = (tmp_path / "metrics").glob("*.json")
    content = file.read_bytes()
    os.utime(file, (0, 0))

    writer.write()

    assert file.read_bytes() == content
    assert file.stat().st_mtime > 0


def test_they_are_written_as_prometheus_reads_them(metrics):
    counter, gauge, histogram = metrics
    counter.add('a "pear"')
    gauge.set({(): 2.5})
    histogram.observe(2.0)
    histogram.observe(3.0)
    files.Writer("other").write()

    assert exposition.text().decode() == (
        "# HELP test_bites Bites.\n"
        "# TYPE test_bites histogram\n"
        'test_bites_bucket{le="1.0"} 0.0\n'
        'test_bites_bucket{le="2.0"} 1.0\n'
        'test_bites_bucket{le="+Inf"} 2.0\n'
        "test_bites_count 2.0\n"
        "test_bites_sum 5.0\n"
        "# HELP test_eaten_total Eaten.\n"
        "# TYPE test_eaten_total counter\n"
        'test_eaten_total{what="a \\"pear\\""} 1.0\n'
        "# HELP test_hungry Hungry.\n"
        "# TYPE test_hungry gauge\n"
        "test_hungry 2.5\n"
    )


def test_counts_that_can_not_be_moved_are_read_where_they_are(metrics, eater, tmp_path: Path):
    eater.kill()
    eater.wait()
    # As on a full disk, nothing can be written in its place.
    (tmp_path / "metrics" / "ended.json").mkdir()

    for _ in range(2):
        assert files.read().values == {
            "test_eaten_total": {("apples",): 2, ("pears",): 1},
            "test_bites": {(): [6.0, 1, 0, 1]},
        }


def test_what_another_release_has_counted_in_another_way_is_left_out(metrics, tmp_path: Path):
    counter, _, _ = metrics
    counter.add("apples")
    files.Writer("other").write()
    (tmp_path / "metrics" / "ended.json").write_text(
        '{"values": {"test_eaten_total": [[["apples", "red"], 5], [["apples"], [1, 2]], [["pears"], 3]],'
        ' "test_bites": [[[], [1.0, 1]], [[], 4]], "gone_total": [[[], 1]]}}'
    )

    assert files.read().values == {"test_eaten_total": {("apples",): 1, ("pears",): 3}}


def test_what_has_never_happened_is_a_number_too(metrics):
    METRICS.pop("test_eaten_total")
    Counter("test_eaten_total", "Eaten.")

    assert b"\ntest_eaten_total 0.0\n" in exposition.text()


def test_whoever_was_stopped_while_it_moved_counts_keeps_nobody_from_reading(metrics, eater, tmp_path: Path):
    counter, _, _ = metrics
    counter.add("apples")
    files.Writer("other").write()
    eater.kill()
    eater.wait()
    with (tmp_path / "metrics" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        counts = files.read()

    assert counts.values["test_eaten_total"] == {("apples",): 3, ("pears",): 1}
    assert counts.values.get("test_hungry", {}) == {}
    assert files.read().values["test_eaten_total"] == counts.values["test_eaten_total"]
