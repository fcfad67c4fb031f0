"""The fixtures of all tests, above all their database: one embedded PostgreSQL per session.

The first test that needs the server starts it. All pytest-xdist workers share it, each with a database of its
own. With DATABASE_URL the tests use that server, with MIRROR_CITUS_URL that cluster.
"""

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_django
from django.conf import settings as django_settings
from django.db import connections
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from ledger import loaded_ranges
from ledger.queries import chain_ids, fee_schedules
from mirror.core import config
from mirror.core.db.backend.base import DatabaseWrapper
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from network.queries import simple_fees
from tests import cluster, sessions
from tests.api import Api
from tests.build import Build
from tests.checklist import pytest_collection_modifyitems
from tests.ledger.ingest.tables import empty_database, empty_tables
from tests.node import Node, manage
from tests.replicated import Replicated
from tests.summary import pytest_sessionfinish
from tests.waiting import PATIENT_SETTINGS

__all__ = ["pytest_collection_modifyitems", "pytest_sessionfinish"]

# A property must not fail because the machine is busy.
hypothesis_settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("untimed")

_PREFIX = "ledger-mirror-tests-"
# The tests' data is thrown away, so nothing has to wait for the disk.
_UNSAFE_BUT_FAST = {
    "wal_compression": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "100",
}
_FOLDER = pytest.StashKey[Path]()
# A file in memory is made in a tenth of the time, and an emptied table has new files.
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 6 << 30


def _server(folder: Path) -> Server:
    return Server(server_paths(folder), configuration=_UNSAFE_BUT_FAST)


def _remove(folder: Path) -> None:
    if (folder / "postgres").exists():
        with suppress(Exception):
            _server(folder).stop()
    shutil.rmtree(folder, ignore_errors=True)


def _temporary() -> Path:
    """Return the folder for the tests' data: in memory where there is room, unless TMPDIR names one."""
    roomy = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES
    return _MEMORY if roomy and "TMPDIR" not in os.environ else Path(tempfile.gettempdir())


def pytest_configure(config: pytest.Config) -> None:
    # Without their bytecode, workers rewrite all test modules in each run, and commands compile the product.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # A command that a shell runs in the background ignores Ctrl-C, and so would the nodes of tests.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        config.stash[_FOLDER] = Path(config.workerinput["server_folder"])
        _use_data_folder(config.stash[_FOLDER] / config.workerinput["workerid"])
        return
    temporary = _temporary()
    for left_behind in (*temporary.glob(f"{_PREFIX}*"), *Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        owner = left_behind.name.removeprefix(_PREFIX).partition("-")[0]
        if os.access(left_behind, os.W_OK) and not psutil.pid_exists(int(owner)):
            _remove(left_behind)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=temporary))
    folder.chmod(0o755)
    config.stash[_FOLDER] = folder
    _use_data_folder(folder / "main")


def _use_data_folder(folder: Path) -> None:
    """Give this process, and the commands that it starts, a data folder that no node uses."""
    folder.mkdir()
    os.environ["SVC_MIRROR_DATA"] = str(folder)
    django_settings.DATA_DIR = folder
    django_settings.CACHES["logins"]["LOCATION"] = folder / "logins"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector, which passes over them and their modules from then on."""
    gc.disable()
    done = yield
    gc.freeze()
    gc.enable()
    return done


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["server_folder"] = str(node.config.stash[_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and _FOLDER in config.stash:
        _remove(config.stash[_FOLDER])


@pytest.fixture
def all_endpoints() -> Iterator[None]:
    """Switch on the endpoints that are off by default."""
    from mirror.core.rest.schema.description import switches

    restore = config.overridden(dict.fromkeys(switches().values(), True))
    yield
    restore.close()


@pytest.fixture
def data_folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield a data folder for a node of the test's own. Its path is short, and every account may pass it.

    A server that still runs there afterwards is stopped.
    """
    folder = Path(tempfile.mkdtemp(prefix="data-", dir=request.config.stash[_FOLDER]))
    folder.chmod(0o755)
    yield folder
    _remove(folder)


@pytest.fixture
def tables(request: pytest.FixtureRequest, data_folder: Path) -> None:
    """Give the data folder a database with all tables: a copy, which is much faster than making one."""
    copy_tables(request.config, data_folder)


@pytest.fixture(scope="session")
def replicated(request: pytest.FixtureRequest) -> Iterator[Replicated]:
    """Yield a primary with all tables, and a replica that follows it; both go on as each test begins."""
    folder = Path(tempfile.mkdtemp(prefix="replicas-", dir=request.config.stash[_FOLDER]))
    folder.chmod(0o755)
    copy_tables(request.config, folder)
    replicated = Replicated(folder, folder / "r", _UNSAFE_BUT_FAST)
    if not replicated.can_copy():
        pytest.skip("this PostgreSQL has no pg_basebackup, which makes a replica")
    try:
        yield replicated.started()
    finally:
        replicated.stop()
        shutil.rmtree(folder, ignore_errors=True)


def copy_tables(config: pytest.Config, data_folder: Path) -> None:
    """Copy a database with all tables, made by the first who wants one, into a data folder."""
    template = config.stash[_FOLDER] / "template"
    made = template / "made"
    with (config.stash[_FOLDER] / "template.lock").open("a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        if not made.exists():
            done = manage("migrate", "--verbosity", "0", SVC_MIRROR_DATA=str(template))
            assert done.returncode == 0, done.stderr
            made.touch()
    # This keeps the owner.
    subprocess.run(["cp", "-a", template / "postgres", data_folder], check=True)


@pytest.fixture
def node(data_folder: Path) -> Iterator[Node]:
    """Yield a node on a data folder and a port of its own; the test starts it."""
    # The processes for calls of a second web worker take as long to start as the rest of the node.
    node = Node(data_folder, SVC_MIRROR_WEB_WORKERS="1")
    yield node
    node.kill()


@pytest.fixture(scope="session", autouse=True)
def _patient_settings() -> Iterator[None]:
    """Let no answer depend on how busy the machine is."""
    restore = config.overridden(PATIENT_SETTINGS)
    yield
    restore.close()


@pytest.fixture(autouse=True)
def _unknown_coverage() -> None:
    """Let no answer tell what another test has loaded."""
    loaded_ranges.forget()


@pytest.fixture(scope="session", autouse=True)
def _quickly_emptied() -> Iterator[None]:
    """Empty the database in milliseconds after a test that is marked with django_db(transaction=True)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: empty_database())
        patch.setattr(TransactionTestCase, "_should_reload_connections", lambda _: sessions.renew())
        yield


@pytest.fixture(scope="session", autouse=True)
def _sessions_of_writers() -> Iterator[None]:
    """Let the loader's runs share a session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseWrapper, "get_new_connection", sessions.opened)
        patch.setattr(DatabaseWrapper, "_close", sessions.closed)
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, django_db_modify_db_settings_parallel_suffix: None
) -> Iterator[None]:
    if cluster.URL:
        restore = config.overridden(cluster.SETTINGS)
        connections.databases["default"].update(cluster.connection_settings())
        connections["default"].settings_dict.update(cluster.connection_settings())
        yield
        restore.close()
        return
    if config.value("db.url"):
        yield
        return
    server = _server(request.config.stash[_FOLDER])
    with server.in_use():
        connections.databases["default"]["HOST"] = str(server.paths.socket)
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[None]:
    """Distribute the test database, if that is on a cluster."""
    if not cluster.URL or not connections["default"].settings_dict["NAME"].startswith("test_"):
        yield
        sessions.end()
        return
    with django_db_blocker.unblock():
        cluster.distribute_own()
    yield
    sessions.end()
    cluster.leave(connections["default"].settings_dict["NAME"])


@pytest.fixture(scope="session")
def _test_database(django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Make the test database, also if no test of the run is marked with django_db, as pytest-django wants."""
    if connections["default"].settings_dict["NAME"].startswith("test_"):
        yield
        return
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False, aliases={"default": None})
        if cluster.URL:
            cluster.distribute_own()
    yield
    sessions.end()
    if cluster.URL:
        cluster.leave(connections["default"].settings_dict["NAME"])
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture
def ledger_tables(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Empty the tables after a test whose rows another thread commits: the loader's writer.

    Unlike django_db(transaction=True) it leaves the other tables as they are.
    """
    with django_db_blocker.unblock():
        yield
        empty_tables()


@pytest.fixture
def api(db: None) -> Api:
    """Return a client of the whole API, which remembers nothing of other tests' rows."""
    fee_schedules.forget()
    chain_ids.forget()
    simple_fees.forget()
    return Api()


@pytest.fixture
def build(db: None) -> Build:
    """Return what inserts rows; they are gone after the test."""
    return Build()


@pytest.fixture
def settings_of() -> Iterator[Callable[..., object]]:
    """Yield a function that changes settings for the test: `settings_of({"rest.response.limit.max": 4})`."""
    with ExitStack() as changed:
        yield lambda changes: changed.push(config.overridden(changes))
