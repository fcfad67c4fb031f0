"""Replicas: copies of the database that PostgreSQL updates continuously, from which requests read."""

from mirror.core.config.setting import Setting

#: Settings of earlier releases -> what to use instead.
REMOVED = {"db.readPatience": "Requests wait for no block any more: db.readMaxLag limits how old they read."}

SETTINGS = (
    Setting("db.read", "", "Replicas of the database from which REST, contract calls and gRPC read: "
            "hosts (db1,db2:5433), or an address that names them "
            "(postgresql://mirror_reader:password@db1:5432,db2:5432/name). What it leaves out is that of "
            "DATABASE_URL, or of db.reader. Everything else uses the primary.", secret=True),
    Setting("db.readMaxLag", "30s",
            "A replica that is further behind than this is not used while another server of the database can "
            "be; a node that has no other is not ready.", unit="duration", low=0.1, high=86400),
    Setting("db.replicas", (), "Addresses and networks whose replicas may follow the node's own database, "
            "which then listens at port 5432 for them; none by default."),
)  # fmt: skip
