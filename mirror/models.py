"""Tables about the node itself."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.core.db.schema.fields import BlockTimestampField, NanosTimestampField, NumberField

# The advisory lock of the process that loads into a database. Any fixed number does.
LOADER_LOCK = 0x6C6564676572
# The same for the process that runs backfills.
UPGRADE_LOCK = 0x757067726164
# The same for a backup, a restore or the pruning of old rows.
KEEPING_LOCK = 0x6B656570


class LoaderState(models.Model):  # noqa: DJ008
    """The state of this database's loader: one row, written by `ledger.ingest.reporting`.

    A loader reports at most once a second, and every half minute when nothing changes. A `reported` far in
    the past means that it was killed or hangs. Its lock tells whether it runs.
    """

    class Activity(models.TextChoices):
        STARTING = "starting"
        LOADING = "loading"
        WAITING = "waiting"
        STUCK = "stuck"
        STOPPED = "stopped"
        FAILED = "failed"

    id = models.SmallIntegerField(primary_key=True)
    activity = models.CharField(max_length=10, choices=Activity)
    # Where the files come from, in words: "the folder /data/streams".
    source = models.TextField()
    following = models.BooleanField()
    process = models.IntegerField()
    host = models.TextField()
    started = models.DateTimeField()
    reported = models.DateTimeField()
    # Of this run.
    files = models.BigIntegerField(default=0)
    transactions = models.BigIntegerField(default=0)
    # Of the last minute: transactions per second, and seconds of the stream per second.
    transaction_rate = models.FloatField(null=True)
    stream_rate = models.FloatField(null=True)
    # Consensus time of the newest file that the source is known to have.
    newest = models.BigIntegerField(null=True)
    # The `Problem` as JSON, when the loader is stuck or has failed.
    problem = models.JSONField(null=True)
    # Where blocks come from and why, and what is known of each block node; null while no blocks are followed.
    block_source = models.JSONField(null=True)
    # Requests to the source that failed or were slow lately: see `ledger.stream.source.incidents`.
    incidents = models.JSONField(null=True)

    class Meta:
        db_table = "loader_state"


class StoredNetwork(models.Model):  # noqa: DJ008
    """The network whose ledger this database holds: one row, written by `ledger.ingest.stored_network`."""

    id = models.SmallIntegerField(primary_key=True)
    network = models.TextField()

    class Meta:
        db_table = "stored_network"


class LoadedRange(models.Model):  # noqa: DJ008
    """Files that were loaded one after another, by one rule: written by `ledger.ingest.coverage`.

    A range ends where the chain of hashes breaks, and where files are loaded by other filters or without
    signatures. What lies in no range is not loaded. A node of an older release has left rows without ranges;
    `manage.py upgrade` makes them.
    """

    compared = None

    class RestsOn(models.TextChoices):
        """What was known when the first file of the range was loaded."""

        # The range begins with the network's first file.
        GENESIS = "genesis"
        # It goes on after the range before.
        RANGE = "range"
        # The balances in a file of the network, which `basis` names.
        BALANCES = "balances"
        # Nothing: balances count from zero, and entities are known from what passes by.
        NOTHING = "nothing"
        # An older release has loaded it.
        UNKNOWN = "unknown"

    # The start of the first file, and the end of the last.
    consensus_start = NanosTimestampField(primary_key=True)
    consensus_end = BlockTimestampField()
    first_block = models.BigIntegerField()
    last_block = models.BigIntegerField()
    files = NumberField()
    # All of these files, also those that the filters left out.
    transactions = NumberField()
    # Whether a quorum of the network's nodes has signed each file; null if nobody knows.
    signed = models.BooleanField(null=True)
    # The settings that choose what is stored, where they differ from their defaults: name to value. Null if
    # nobody knows them.
    filters = models.JSONField(null=True)
    rests_on = models.CharField(max_length=10, choices=RestsOn)
    basis = models.TextField(default="", blank=True)

    class Meta:
        db_table = "loaded_range"


class DroppedRows(models.Model):  # noqa: DJ008
    """A table that has lost its rows from before a time, written by `mirror.core.db.partitions.dropping`."""

    compared = None

    table_name = models.TextField(primary_key=True)
    before = NanosTimestampField()

    class Meta:
        db_table = "dropped_rows"


class SkippedTransaction(models.Model):  # noqa: DJ008
    """A transaction that importer.parser.skip names, written with its row and its hbar transfers.

    Nothing else of it is stored.
    """

    compared = None

    consensus_timestamp = models.BigIntegerField(primary_key=True)
    type = models.SmallIntegerField()
    file = models.TextField()

    class Meta:
        db_table = "skipped_transaction"


class ArchiveFailure(models.Model):  # noqa: DJ008
    """A loaded file that is missing in the place of kept files, which could not be written at that time.

    Written by `ledger.archive.archiver` with the rows of the file, deleted by `ledger.archive.repair`.
    """

    compared = None

    consensus_end = BlockTimestampField(primary_key=True)
    name = models.TextField()
    since = models.DateTimeField()
    reason = models.TextField()

    class Meta:
        db_table = "archive_failure"


class ArchiveLocation(models.Model):  # noqa: DJ008
    """A folder or bucket that verified files have been kept in.

    Written by `ledger.archive.archiver` with the first file that is archived there.
    """

    compared = None

    location = models.TextField(primary_key=True)
    since = models.DateTimeField()

    class Meta:
        db_table = "archive_location"


class LoadedErrata(models.Model):  # noqa: DJ008
    """How much of mainnet's errata is applied: a row for each part of them, written by `manage.py errata`."""

    compared = None

    part = models.TextField(primary_key=True)
    # How many there are; null if nobody knows.
    known = models.BigIntegerField(null=True)
    # The times of transactions and balance files, or the ids of accounts and contracts.
    applied = ArrayField(models.BigIntegerField())
    changed = models.DateTimeField()

    class Meta:
        db_table = "loaded_errata"


class Backfill(models.Model):  # noqa: DJ008
    """A change of rows that an older release has written. Made by a migration; run by `manage.py upgrade`.

    It goes from `newest`, the last consensus time of the older release, down to `oldest`. Rows after
    `position` are done. This row changes in the same transaction as they do.
    """

    name = models.TextField(primary_key=True)
    newest = models.BigIntegerField(null=True)
    oldest = models.BigIntegerField(null=True)
    position = models.BigIntegerField(null=True)
    # The number of changed rows, and the time that it took.
    rows = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        db_table = "backfill"


class NodeMinute(models.Model):  # noqa: DJ008
    """The requests and the loading of a minute, for charts: written by `mirror.web.requests.request_history`.

    Where several machines serve the same database, it has those of the one that had most.
    """

    written_by_web_server = True

    # When the minute began.
    minute = models.DateTimeField(primary_key=True)
    # Requests of the API; those of them that failed (5xx), and those refused for now (429, 503).
    requests = models.BigIntegerField()
    failures = models.BigIntegerField()
    refused = models.BigIntegerField()
    # Half of the requests, or 99 % of them, were answered in this time. Without any request it is null.
    p50_milliseconds = models.FloatField(null=True)
    p99_milliseconds = models.FloatField(null=True)
    # From the last block to the end of the minute; null if there was none, or nobody knows.
    lag_seconds = models.FloatField(null=True)
    # Transactions that were loaded.
    transactions = models.BigIntegerField()

    class Meta:
        db_table = "node_minute"
