"""Counts of several processes, added up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_APART = """
import sys
from mirror.core import metrics
from prometheus_client import Counter, Gauge, Histogram
eaten = Counter("test_eaten_total", "Eaten.", ["what"])
hungry = Gauge("test_hungry", "Hungry.", multiprocess_mode="livesum")
bites = Histogram("test_bites", "Bites.", buckets=(1.0, 2.0))
"""
_EATER = """
metrics.start("eater")
metrics.sample(hungry, lambda: 3)
metrics.set_gauges()
eaten.labels("apples").inc(2)
bites.observe(1.0)
bites.observe(5.0)
print("begun", flush=True)
sys.stdin.read()
"""
_READER = """
print(metrics.processes())
print(metrics.text().decode(), end="")
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs code with the metrics of `_APART`, and returns what it prints."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "counts"))

    def run(code: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", _APART + code], capture_output=True, text=True)
        return [*done.stdout.splitlines(), *done.stderr.splitlines()[-1:]]

    return run


@pytest.fixture
def eater(run):
    process = subprocess.Popen(
        [sys.executable, "-c", _APART + _EATER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_counts_of_processes_are_added_as_prometheus_reads_them(run, eater):
    processes, *lines = run("eaten.labels('a \"pear\"').inc()\nbites.observe(2.0)\n" + _READER)

    assert processes == f"[Process(role='eater', pid={eater.pid})]"
    assert sorted(lines) == sorted(
        [
            "# HELP test_bites Bites.",
            "# TYPE test_bites histogram",
            'test_bites_bucket{le="1.0"} 1.0',
            'test_bites_bucket{le="2.0"} 2.0',
            'test_bites_bucket{le="+Inf"} 3.0',
            "test_bites_count 3.0",
            "test_bites_sum 8.0",
            "# HELP test_eaten_total Eaten.",
            "# TYPE test_eaten_total counter",
            'test_eaten_total{what="a \\"pear\\""} 1.0',
            'test_eaten_total{what="apples"} 2.0',
            "# HELP test_hungry Hungry.",
            "# TYPE test_hungry gauge",
            "test_hungry 3.0",
        ]
    )


def test_counts_of_a_killed_process_remain_and_its_gauges_do_not(run, eater):
    eater.kill()
    eater.wait()

    for _ in range(2):
        processes, *lines = run(_READER)
        assert processes == "[]"
        assert {'test_eaten_total{what="apples"} 2.0', "test_bites_count 2.0", "test_hungry 0.0"} <= {*lines}


def test_next_process_continues_the_counts_of_one_that_has_ended(run, tmp_path: Path):
    for _ in range(3):
        run("eaten.labels('apples').inc()")

    assert 'test_eaten_total{what="apples"} 3.0' in run(_READER)
    assert [path.name for path in (tmp_path / "counts").glob("*.process")] == ["0.process"]


def test_a_fork_counts_nothing_of_its_parent_again(run, tmp_path: Path):
    fork = "import os\nif child := os.fork():\n    os.waitpid(child, 0)\n"
    more = "else:\n    eaten.labels('apples').inc()\n    os._exit(0)\n"

    assert 'test_eaten_total{what="apples"} 6.0' in run(
        f"eaten.labels('apples').inc(5)\n{fork}{more}{_READER}"
    )
    assert len([*(tmp_path / "counts").glob("*.process")]) == 2


def test_only_the_user_of_the_node_reads_and_changes_its_counts(run, tmp_path: Path):
    folder = tmp_path / "counts"
    folder.mkdir()
    folder.chmod(0o777)

    run("metrics.start('eater')")

    assert folder.stat().st_mode & 0o777 == 0o700


def test_link_in_place_of_the_folder_is_refused(run, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "counts").symlink_to(tmp_path / "elsewhere")

    *_, error = run("metrics.start('eater')")

    assert error == (
        f"mirror.core.config.setting.OperatorError: The folder {tmp_path}/counts can't be made, is a link, "
        "or belongs to another user: remove it, or name another one in memory by PROMETHEUS_MULTIPROC_DIR."
    )
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_the_file_of_a_process_gets_a_new_time_every_second(eater, tmp_path: Path):
    from tests.waiting import wait_until

    (file,) = (tmp_path / "counts").glob("*.process")
    os.utime(file, (0, 0))

    wait_until(lambda: file.stat().st_mtime > 0)
    assert file.read_text() == f"{eater.pid} eater"


def test_an_old_report_of_the_node_is_left_out(run, tmp_path: Path):
    write = "metrics.report_path().write_text('mirror_ready 1.0\\n')\n"
    age = "import os; os.utime(metrics.report_path(), (0, 0))\n"

    assert "mirror_ready 1.0" in run(write + _READER)
    assert "mirror_ready 1.0" not in run(age + _READER)
