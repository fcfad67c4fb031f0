"""Retention: old months go, by table, by command and by settings, and never beside a backup."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_django
from django.core.management import call_command

from ledger.models import CryptoTransfer, RecordFile, TopicMessage, Transaction
from mirror.core.config.setting import InvalidSetting, OperatorError
from mirror.core.db.partitions import months
from mirror.core.values.timestamp import parse_iso
from mirror.models import DroppedRows
from mirror.operations.backup.sessions import exclusive, session
from mirror.operations.retention import plan, pruning
from tests.api import Api
from tests.ledger.compose import Stream, receipt
from tests.ledger.ingest.load import load, settings
from tests.node import Node, manage
from tests.partitions import own_database, query

DAYS = ("2024-05-30", "2024-06-15", "2024-07-15", "2024-08-20")
GROWING = 12
BUSY = "Another backup, restore or pruning of this database is at work: wait for it to end."


@pytest.fixture
def four_months(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """A message and a transfer in each month from May to August 2024, in tables partitioned by month."""
    with django_db_blocker.unblock(), own_database(partitioned=True):
        stream, topic = Stream(), {"topicNum": 7000}
        for number, day in enumerate(DAYS, 1):
            stream.consensus_timestamp = parse_iso(day)
            if number == 1:
                stream.happen("consensusCreateTopic", record=receipt(topicID=topic))
            stream.send({1001: -5, 1002: 5})
            said = {"topicID": topic, "message": b"hello"}
            stream.happen("consensusSubmitMessage", said, receipt(topicSequenceNumber=number))
            load(stream.block())
        yield


def months_of(model) -> list[int]:
    times = model.objects.values_list("consensus_timestamp", flat=True)
    return sorted({5 + sum(time >= parse_iso(f"2024-0{month}-01") for month in (6, 7, 8)) for time in times})


def test_only_whole_expired_months_are_dropped(four_months: None, capsys: pytest.CaptureFixture[str]) -> None:
    """From the first of July to the last block it is 50 days."""
    call_command("prune", period="51d", estimate=True)
    assert f"{GROWING} partitions of " in capsys.readouterr().out
    assert months_of(Transaction) == [5, 6, 7, 8]

    call_command("prune", period="51d")
    assert months_of(Transaction) == [6, 7, 8]
    # Another table keeps its rows for longer, and lists still have them.
    call_command("prune", period="50d", table=["transaction", "crypto_transfer=1000d"])
    assert [months_of(model) for model in (Transaction, CryptoTransfer, TopicMessage)] == [
        [7, 8],
        [6, 7, 8],
        [6, 7, 8],
    ]
    july, june = (parse_iso(f"2024-0{month}-01") for month in (7, 6))
    dropped = dict(DroppedRows.objects.values_list("table_name", "before"))
    assert (dropped["transaction"], dropped["crypto_transfer"]) == (july, june)
    months.forget()
    (first,) = Api().get("/api/v1/topics/7000/messages?order=asc&limit=1").json()["messages"]
    assert first["sequence_number"] == 2
    assert RecordFile.objects.count() == len(DAYS)

    call_command("prune", period="1d")
    assert [months_of(model) for model in (Transaction, CryptoTransfer, TopicMessage)] == [[8]] * 3
    call_command("prune", period="1d")
    assert "nothing to drop" in capsys.readouterr().out


def test_node_prunes_by_its_settings_after_a_backup(four_months: None) -> None:
    said: list[str] = []
    stopping = threading.Event()

    def echo(sentence: str) -> None:
        said.append(sentence)
        stopping.set()

    kept = {
        "importer__retention__enabled": True,
        "importer__retention__period": 60 * 86_400.0,
        "importer__retention__exclude": ("topic_message",),
        "importer__retention__tables": ("crypto_transfer=365d",),
    }
    with settings(**kept):
        with session() as own, exclusive(own):
            pruning.prune_continuously(echo, stopping)
        assert said == [f"Retention: {BUSY}"]
        assert months_of(Transaction) == [5, 6, 7, 8]
        # An error of the database does not end it.
        stopping.clear()
        query("alter table record_file rename to elsewhere")
        pruning.prune_continuously(echo, stopping)
        query("alter table elsewhere rename to record_file")
        assert said.pop().startswith("Retention: nothing more was dropped, as the database says: relation")
        stopping.clear()
        pruning.prune_continuously(echo, stopping)
        words = plan.sentence()

    assert said[1].startswith(f"Retention: dropped {GROWING - 2} partitions of ")
    assert [months_of(model) for model in (Transaction, CryptoTransfer, TopicMessage)] == [
        [6, 7, 8],
        [5, 6, 7, 8],
        [5, 6, 7, 8],
    ]
    assert words == (
        "transaction is kept for 60 days, others for 365 days; it has rows from 2024-06-01 on, and those "
        "before 2024-07-01 go when the last block is of 2024-08-30"
    )


@pytest.mark.django_db
def test_tables_that_are_not_partitioned_are_refused_with_the_cure() -> None:
    with pytest.raises(OperatorError, match="`manage.py upgrade` partition them"):
        call_command("prune")
    with settings(importer__retention__enabled=True):
        assert plan.sentence().startswith("nothing is dropped, as no table is partitioned by month")


@pytest.mark.django_db
@pytest.mark.parametrize("options", [{"period": ""}, {"table": ["contract_action="]}], ids=["all", "a table"])
def test_empty_period_is_refused_and_drops_nothing_by_the_settings(options) -> None:
    with pytest.raises(InvalidSetting, match="'' is not a duration of a day or more"):
        call_command("prune", **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tables": ("contract_log=soon",)}, "'soon' is not a duration of a day or more"),
        ({"tables": ("contract_log=1h",)}, "'1h' is not a duration of a day or more"),
        ({"include": ("entity",)}, "the table entity can't lose rows by their age; these can: transaction, "),
    ],
    ids=["no period", "too short", "no such table"],
)
def test_settings_that_mean_nothing_are_refused(changes, message: str) -> None:
    with settings(**{f"importer__retention__{name}": value for name, value in changes.items()}):
        with pytest.raises(InvalidSetting, match=message):
            plan.periods()
        with settings(importer__retention__enabled=True):
            assert message in plan.sentence()


def test_settings_that_mean_nothing_end_a_loader_before_it_loads() -> None:
    with (
        settings(importer__retention__exclude=("entity",)),
        pytest.raises(InvalidSetting, match="the table entity can't lose rows"),
    ):
        call_command("ingest", "/nowhere")


def test_settings_that_mean_nothing_end_a_node_before_it_makes_anything(data_folder: Path) -> None:
    variables = {
        "SVC_MIRROR_DATA": str(data_folder),
        "SVC_MIRROR_IMPORTER_RETENTION_TABLES": "transaction=2x",
    }
    done = manage("up", PORT=str(Node(data_folder).port), **variables)

    assert done.returncode == 2
    assert "'2x' is not a duration of a day or more, such as 90d." in done.stderr
    assert not (data_folder / "postgres").exists()


def test_settings_choose_the_tables() -> None:
    with settings(
        importer__retention__include=("transaction", "topic_message"), importer__retention__exclude=()
    ):
        assert plan.periods() == {"transaction": 90 * 86_400, "topic_message": 90 * 86_400}
    with settings(importer__retention__exclude=("topic_message",)):
        assert "topic_message" not in plan.periods()
