"""The node's own PostgreSQL, with real processes."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

from mirror.core.processes import process_table
from mirror.node.postgres import cluster
from mirror.node.postgres.cluster import ServerError
from mirror.node.postgres.installation import Account, server_paths
from mirror.node.postgres.server import Server
from tests.node import is_running, kill
from tests.waiting import PATIENCE_SECONDS, wait_until

FAST = {"fsync": "off"}

# Uses the server of a data folder until its standard input ends.
USER_OF_THE_SERVER = """
import sys
from pathlib import Path
from mirror.node.postgres.server import Server
from mirror.node.postgres.installation import server_paths
with Server(server_paths(Path(sys.argv[1])), configuration={"fsync": "off"}).in_use() as server:
    print(server.pid(), flush=True)
    sys.stdin.read()
"""

# Uses it too, but gets Ctrl-C at a moment of its start: when a program with the given word in its command has
# just been started, or when the method of that name ends.
INTERRUPTED_USER = """
import os, signal, sys
from pathlib import Path
from mirror.node.postgres import server
from mirror.node.postgres.installation import server_paths

def interrupt(frame, event, called):
    if event == "c_return" and called.__name__ == "fork_exec":
        is_moment = any(sys.argv[2] in str(word) for word in frame.f_locals["args"])
    else:
        is_moment = event == "return" and (server.__file__, sys.argv[2]) == (
            frame.f_code.co_filename, frame.f_code.co_name
        )
    if is_moment:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)

sys.setprofile(interrupt)
with server.Server(server_paths(Path(sys.argv[1])), configuration={"fsync": "off"}).in_use():
    sys.stdin.read()
"""


def server_of(folder: Path) -> Server:
    return Server(server_paths(folder), configuration=FAST)


def connect(server: Server, user: str = "mirror_node") -> psycopg.Connection:
    host = str(server.paths.socket)
    return psycopg.connect(host=host, user=user, dbname="mirror_node", autocommit=True)


def test_new_server_has_the_database_and_its_owner(data_folder):
    with server_of(data_folder).in_use() as server, connect(server) as connection:
        row = connection.execute(
            "select current_user, usesuper, current_setting('data_checksums'),"
            " pg_encoding_to_char(encoding), datcollate, pg_get_userbyid(datdba)"
            " from pg_user, pg_database where usename = current_user and datname = current_database()"
        ).fetchone()
    assert row == ("mirror_node", False, "on", "UTF8", "C", "mirror_node")


def test_server_keeps_its_data_and_stops_after_its_last_user(data_folder):
    with server_of(data_folder).in_use() as server, connect(server) as connection:
        connection.execute("create table kept as select 7 as number")
    assert server.pid() is None
    assert server.pids() == []

    with server_of(data_folder).in_use() as server, connect(server) as connection:
        assert connection.execute("select number from kept").fetchone() == (7,)


def test_the_write_ahead_log_is_not_compressed(data_folder):
    with server_of(data_folder).in_use() as server, connect(server) as connection:
        assert connection.execute("show wal_compression").fetchone() == ("off",)


def test_only_the_operator_and_the_servers_account_can_reach_the_socket(data_folder):
    with server_of(data_folder).in_use() as server:
        assert server.paths.socket.stat().st_mode & 0o777 == 0o700
        assert server.paths.data.stat().st_mode & 0o777 == 0o700
        assert (server.paths.home / "pg_hba.conf").read_text() == "local all all peer map=node\n"
        with connect(server, "postgres") as connection:
            assert connection.execute("show listen_addresses").fetchone() == ("",)
        with pytest.raises(psycopg.OperationalError, match="Peer authentication failed"):
            connect(server, "somebody")


def test_what_was_committed_survives_the_kill_of_every_process(data_folder):
    with server_of(data_folder).in_use() as server:
        connection = connect(server)
        connection.execute("create table kept (number int)")
        connection.execute("insert into kept values (7)")
        connection.execute("begin")
        connection.execute("insert into kept values (8)")
        for pid in server.pids():
            os.kill(pid, signal.SIGKILL)

    said: list[str] = []
    again = Server(server_paths(data_folder), configuration=FAST, echo=said.append)
    with again.in_use(), connect(again) as connection:
        assert connection.execute("select number from kept").fetchall() == [(7,)]
    assert "automatic recovery in progress" in again.paths.log.read_text()


def test_server_can_be_stopped_between_a_crash_and_its_recovery(data_folder):
    # With fsync, PostgreSQL first syncs all its files, which leaves time.
    with Server(server_paths(data_folder)).in_use() as server:
        connection = connect(server)
        connection.execute("create table kept as select 7 as number")
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        wait_until(lambda: "; reinitializing" in server.paths.log.read_text())
    assert server.pids() == []

    with server_of(data_folder).in_use() as again, connect(again) as connection:
        assert connection.execute("select number from kept").fetchall() == [(7,)]


def test_processes_that_outlive_a_killed_server_are_waited_for(data_folder):
    with server_of(data_folder).in_use() as server:
        connection = connect(server)
        connection.execute("create table kept as select 7 as number")
        kill(server.pid())

    with server_of(data_folder).in_use() as again, connect(again) as connection:
        assert connection.execute("select number from kept").fetchall() == [(7,)]


def test_pid_file_whose_number_belongs_to_another_program_is_removed(data_folder):
    with server_of(data_folder).in_use() as server:
        stale = (server.paths.data / "postmaster.pid").read_text().splitlines()
    sleeper = subprocess.Popen(["sleep", "60"], **server.paths.account.process_options)
    try:
        (server.paths.data / "postmaster.pid").write_text("\n".join([str(sleeper.pid), *stale[1:]]))
        with server_of(data_folder).in_use() as again:
            assert again.pid() not in (None, sleeper.pid)
    finally:
        sleeper.kill()
        sleeper.wait()


def test_commands_share_one_server_and_the_last_one_stops_it(data_folder):
    def use() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", USER_OF_THE_SERVER, str(data_folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    at_the_same_time = [use() for _ in range(3)]
    first, *others = at_the_same_time
    pids = {user.stdout.readline() for user in at_the_same_time if user.stdout}
    assert len(pids) == 1
    with server_of(data_folder).in_use() as server:
        assert {f"{server.pid()}\n"} == pids
        for user in others:
            user.communicate(timeout=PATIENCE_SECONDS)
    assert server.pid() is not None, "one command still uses it"
    first.communicate(timeout=PATIENCE_SECONDS)
    assert server.pid() is None


def test_ctrl_c_at_any_moment_of_a_start_leaves_no_server(data_folder):
    for moment in ("initdb", "--single", "cluster_name", "_launch", "_start", "in_use"):
        user = subprocess.run(
            [sys.executable, "-c", INTERRUPTED_USER, str(data_folder), moment],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

        assert user.stderr.endswith("KeyboardInterrupt\n"), moment
        left = [pid for pid in psutil.pids() if str(data_folder) in process_table.command(pid)]
        assert left == [], f"{moment}: {[process_table.command(pid) for pid in left]}"


def test_server_of_a_killed_command_is_taken_over_and_stopped(data_folder):
    user = subprocess.Popen(
        [sys.executable, "-c", USER_OF_THE_SERVER, str(data_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert user.stdout
    left_behind = int(user.stdout.readline())
    user.kill()
    user.wait()
    with server_of(data_folder).in_use() as server:
        assert server.pid() == left_behind
    assert server.pid() is None


def test_attempts_to_start_a_server_count_on_and_say_once_why_they_fail(data_folder: Path) -> None:
    said: list[str] = []
    server = Server(server_paths(data_folder), configuration=FAST, echo=said.append)
    with server.in_use():
        said.clear()
        pid = server.pid()
        kill(pid)
        wait_until(lambda: not (pid and is_running(pid)))
        (server.paths.data / "recovery.signal").touch()
        (server.paths.home / "local.conf").write_text("restore_command = 'sleep 1.1; false'\n")
        while sum(line.startswith("Waiting") for line in said) < 3:
            assert not server.ensure_up()

    first, failure, *later = said
    assert first == "Waiting for PostgreSQL, which is starting (1 s so far)."
    assert failure.startswith("PostgreSQL stopped while starting; its whole log is ")
    assert failure.endswith("The node tries again by itself.")
    waits = r"Waiting for PostgreSQL, which can't be started yet \((\d+) s so far\)\."
    seconds = [int(number) for number in re.findall(waits, "\n".join(later))]
    assert len(seconds) == len(later) and 1 < seconds[0] < seconds[1]


def test_nested_blocks_use_one_server(data_folder):
    with server_of(data_folder).in_use() as outer:
        with server_of(data_folder).in_use():
            pass
        assert outer.pid() is not None
    assert outer.pid() is None


def test_interrupted_creation_is_begun_again(data_folder):
    unfinished = data_folder / "postgres" / "data-unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    (data_folder / "postgres").chmod(0o711)
    with server_of(data_folder).in_use() as server, connect(server) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert not unfinished.exists()


# WHAT STOPS IT


def refused(server: Server) -> str:
    with pytest.raises(ServerError) as raised, server.in_use():
        pass
    assert server.pid() is None
    return str(raised.value)


def test_data_of_another_version_is_refused(data_folder):
    with server_of(data_folder).in_use() as server:
        pass
    (server.paths.data / "PG_VERSION").write_text("15\n")
    assert refused(server_of(data_folder)) == (
        f"The database in {server.paths.data} was made by PostgreSQL 15, and this node has PostgreSQL 18: "
        "make a backup with the release of before (`manage.py backup`) and restore it with this one into a "
        "new folder (SVC_MIRROR_DATA), or load the stream again into that."
    )


def test_data_of_another_user_is_refused(data_folder):
    with server_of(data_folder).in_use() as server:
        pass
    account = server.paths.account
    stranger = Account("stranger", account.uid + 1, account.gid, ())
    sentence = refused(Server(replace(server.paths, account=stranger)))
    assert sentence.startswith(f"The database in {server.paths.home} belongs to {account.name}, not to ")
    assert "SVC_MIRROR_DATA" in sentence


def test_server_that_dies_at_its_start_shows_its_log(data_folder):
    with server_of(data_folder).in_use() as server:
        pass
    (server.paths.home / "local.conf").write_text("shared_bufers = 1GB\n")
    sentence = refused(server_of(data_folder))
    assert sentence.startswith(
        f"PostgreSQL stopped while starting; its whole log is {server.paths.log}, the last "
    )
    assert 'unrecognized configuration parameter "shared_bufers"' in sentence


def test_socket_folder_that_others_may_enter_is_refused(data_folder):
    with server_of(data_folder).in_use() as server:
        pass
    server.paths.socket.chmod(0o755)
    assert "is not a private folder" in refused(server_of(data_folder))


def test_server_started_by_other_means_is_left_alone(data_folder):
    with server_of(data_folder).in_use() as server:
        pass
    other = subprocess.Popen(
        [cluster.binaries(server.paths) / "postgres", "-D", server.paths.data, "-k", server.paths.socket],
        stderr=subprocess.DEVNULL,
        **server.paths.account.process_options,
    )
    try:
        wait_until((server.paths.socket / ".s.PGSQL.5432").exists)
        assert "was started by other means" in refused(server_of(data_folder))
        assert other.poll() is None
    finally:
        other.send_signal(signal.SIGINT)
        other.wait()


def test_missing_library_is_named(data_folder):
    at = server_paths(data_folder)
    alone = data_folder / "initdb"
    alone.write_bytes((cluster.binaries(at) / "initdb").read_bytes())
    alone.chmod(0o755)
    printed = subprocess.run([alone, "--version"], capture_output=True, text=True).stderr
    assert cluster.explain(at, printed, "could not be run").startswith(
        "PostgreSQL needs the system library libpq"
    )
    zlib = "postgres: error while loading shared libraries: libz.so.1: cannot open shared object file"
    assert cluster.explain(at, zlib, "could not be run") == (
        "PostgreSQL needs the system library libz.so.1, which this machine lacks: "
        "install it (on Debian: apt-get install zlib1g)."
    )


def test_full_disk_is_reported(data_folder):
    at = server_paths(data_folder)
    at.home.mkdir(parents=True)
    printed = 'FATAL:  could not write to file "pg_wal/xlogtemp.51": No space left on device'
    said = cluster.explain(at, printed, "stopped while starting")
    free = r"\([\d.]+ [kMGT]B free\)"
    assert re.fullmatch(rf"The disk that holds {at.home} is full {free}: free some space.", said)


def test_long_log_is_moved_while_the_server_goes_on_writing(tmp_path: Path) -> None:
    server = Server(server_paths(tmp_path))
    log = server.paths.log
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as writing:
        writing.write(b"first\n")
        writing.flush()
        assert not server.rotate_log()
        writing.write(b"x" * 10_000_000)
        writing.flush()
        assert server.rotate_log()
        writing.write(b"last\n")

    assert log.read_bytes() == b"last\n"
    moved = log.with_suffix(".log.1")
    assert moved.read_bytes().startswith(b"first\nxx") and moved.stat().st_mode & 0o777 == 0o600
