"""Lines of the log: as text and as JSON, from every process, without secrets."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from mirror.core.config.setting import InvalidSetting
from mirror.core.logs import REQUEST_ID, logger
from mirror.core.logs.configuring import formatter, levels

log = logger("mirror.test")


@pytest.fixture
def line(caplog: pytest.LogCaptureFixture) -> Any:
    """Return the line of the last event, after its time."""

    def line(format: str = "text", *, colours: bool = False) -> str:
        written = formatter(format, colours=colours).format(caplog.records[-1])
        return written if format == "json" or colours else written.partition(" ")[2]

    return line


def test_a_line_for_people_has_columns(line: Any) -> None:
    log.warning("database_away", reason="gone", seconds=5)

    assert line() == "warning  database_away            reason=gone seconds=5 logger=mirror.test"


def test_a_line_for_programs_is_an_object(line: Any) -> None:
    log.error("database_away", reason="gone", seconds=5)

    event = json.loads(line("json"))
    assert event.pop("time").endswith("Z")
    assert list(event.items()) == [
        ("level", "error"),
        ("event", "database_away"),
        ("reason", "gone"),
        ("seconds", 5),
        ("logger", "mirror.test"),
    ]


def test_the_time_is_in_utc_with_milliseconds(caplog: pytest.LogCaptureFixture) -> None:
    log.warning("database_away")
    (record,) = caplog.records
    record.created = 1_700_000_000.25

    for format in ("text", "json"):
        assert "2023-11-14T22:13:20.250Z" in formatter(format).format(record)


def test_only_lines_on_a_terminal_have_colours(line: Any) -> None:
    log.warning("database_away", reason="gone")

    assert "\033" not in line()
    assert "\033[33mwarning" in line(colours=True)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a b", '"a b"'),
        ('a"b', r'"a\"b"'),
        ("a=b", "a=b"),
        ("a\nb", r'"a\nb"'),
        ("a\033[2Jb", r'"a\u001b[2Jb"'),
        ("a\u2028\u202eb", r'"a\u2028\u202eb"'),
        ("\udcff", r'"\udcff"'),
        ("", '""'),
        ("Zürich", "Zürich"),
        (b"a b", "\"b'a b'\""),
        (1 << 70, str(1 << 70)),
    ],
)
def test_no_value_can_look_like_another_line(line: Any, value: object, shown: str) -> None:
    log.warning("login_failed", name=value)

    assert f" name={shown} logger=" in line()
    assert json.loads(line("json"))["name"] == (str(value) if isinstance(value, bytes) else value)


def test_a_library_can_not_forge_a_line_either(line: Any) -> None:
    logging.getLogger("library").warning("%s", "a\n2026 error")

    assert line() == r"warning  a\n2026 error            logger=library"
    assert json.loads(line("json"))["event"] == "a\n2026 error"


def test_a_traceback_follows_its_line_for_people_and_is_a_member_for_programs(line: Any) -> None:
    try:
        raise ZeroDivisionError("so")
    except ZeroDivisionError as error:
        log.error("loader_failed", exc_info=error)

    first, *others = line().splitlines()
    assert first == "error    loader_failed            logger=mirror.test"
    assert (others[0], others[-1]) == ("Traceback (most recent call last):", "ZeroDivisionError: so")
    assert "\n" not in line("json")
    assert json.loads(line("json"))["exception"].splitlines() == others


def test_statements_and_plans_stand_below_their_line_for_people(line: Any) -> None:
    statements = [{"ms": 1.5, "parameters": "'a\nb'", "sql": "select\n  1\033"}]
    log.warning("slow_request", ms=2, statements=statements, plan="Result\n  Filter")

    assert line().splitlines() == [
        "warning  slow_request             ms=2 logger=mirror.test",
        r"    statement: ms=1.5 parameters='a\nb'",
        "        select",
        r"          1\u001b",
        "    plan:",
        "        Result",
        "          Filter",
    ]
    assert json.loads(line("json"))["statements"] == statements


def test_a_line_without_a_plan_has_nothing_below_it(line: Any) -> None:
    log.warning("slow_request", statements=[], plan=None)

    assert line() == "warning  slow_request             logger=mirror.test"


def test_no_line_has_a_secret(line: Any, settings_of: Any) -> None:
    settings_of({"db.url": "postgresql://user:hidden@host/name", "web.secretKey": "concealed"})
    try:
        raise ValueError("redis://:covered@host/0 and concealed")
    except ValueError as error:
        log.error(
            "database_away", reason="no postgresql://user:hidden@host/name", key="concealed", exc_info=error
        )

    for format in ("text", "json"):
        written = line(format)
        assert "database_away" in written
        assert not [word for word in ("hidden", "concealed", "covered") if word in written]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://user:hidden@host/name", "host=name user=user password=hidden"),
        ("postgresql://user:pass@hidden@host/name", "could not translate host name hidden@host"),
        ("postgresql://user:pass@hidden@host/name", "no postgresql://user:pass@hidden@host/name"),
        ("postgresql://user:%68idd%65n@host/name", "user hidden or %68idd%65n"),
        ("postgresql://host/name?user=user&password=hidden", "password hidden"),
        ("host=host dbname=name user=user password='is hidden'", "password is hidden"),
    ],
)
@pytest.mark.parametrize("setting", ["db.url", "db.reader"])
def test_of_the_address_of_a_database_only_the_password_is_a_secret(
    line: Any, settings_of: Any, setting: str, address: str, told: str
) -> None:
    settings_of({setting: address})
    log.warning("database_away", reason=told, where="user of name at host")

    for format in ("text", "json"):
        written = line(format)
        assert "user of name at host" in written
        assert not [word for word in ("hidden", "pass@", "%68") if word in written]


def test_the_plain_name_of_a_role_is_no_secret(line: Any, settings_of: Any) -> None:
    settings_of(
        {"db.reader": "mirror_reader", "db.url": "postgresql://mirror_node:mirror_node@host/mirror_node"}
    )
    log.warning(
        "database_away", reason="mirror_reader and mirror_node", address="redis://:mirror_node@host/0"
    )

    assert 'reason="mirror_reader and mirror_node" address=redis://:***@host/0 ' in line()


def test_secrets_are_taken_out_of_lists_and_objects(line: Any, settings_of: Any) -> None:
    settings_of({"web.secretKey": "concealed"})
    entry = {"sql": "select 'concealed'", "parameters": ["concealed", ("redis://:covered@host", 7)]}
    log.warning("slow_request", statements=[entry], error=ValueError("concealed"), seconds=7)

    for format in ("text", "json"):
        written = line(format)
        assert "concealed" not in written and "covered" not in written
    assert json.loads(line("json"))["statements"] == [
        {"sql": "select '***'", "parameters": ["***", ["redis://:***@host", 7]]}
    ]


def test_a_line_names_the_request_that_its_thread_works_on(line: Any) -> None:
    token = REQUEST_ID.set("abc-1")
    try:
        logging.getLogger("library").warning("sentence")
        assert " request_id=abc-1 " in line()
        assert json.loads(line("json"))["request_id"] == "abc-1"
    finally:
        REQUEST_ID.reset(token)


def test_levels_are_of_loggers() -> None:
    assert levels(("mirror.web=debug", " ledger = error ")) == {"mirror.web": "debug", "ledger": "error"}


@pytest.mark.parametrize("wrong", ["mirror.web", "mirror.web=loud", "=debug"])
def test_a_level_that_there_is_not_is_told(wrong: str) -> None:
    with pytest.raises(InvalidSetting, match="SVC_MIRROR_LOGGING_LEVELS: .* is not a logger and its level"):
        levels((wrong,))


PROGRAM = """
import logging, os, sys, threading
import django
django.setup()
from mirror.core.logs import logger
log = logger("mirror.web")
log.info("seen")
logger("ledger").info("unseen")
logging.getLogger("django.request").error("unheard")
logging.getLogger("_granian").warning("heard")
if os.fork() == 0:
    log.info("of_a_copy")
    os._exit(0)
os.wait()
failing = threading.Thread(target=lambda: 1 / 0)
failing.start()
failing.join()
raise SystemError("end")
"""


def test_a_process_and_its_copies_write_what_the_settings_say_to_standard_error(tmp_path: Path) -> None:
    variables = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "mirror.settings",
        "SVC_MIRROR_DATA": str(tmp_path),
        "SVC_MIRROR_LOGGING_FORMAT": "json",
        "SVC_MIRROR_LOGGING_LEVELS": "mirror.web=info",
    }

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=settings.BASE_DIR, env=variables, capture_output=True, text=True
    )

    told = [json.loads(line) for line in ran.stderr.splitlines()]
    assert [event["event"] for event in told] == [
        "seen",
        "heard",
        "of_a_copy",
        "thread_failed",
        "process_failed",
    ]
    assert told[3]["exception"].endswith("ZeroDivisionError: division by zero")
    assert told[4]["exception"].endswith("SystemError: end")
    assert ran.stdout == ""
