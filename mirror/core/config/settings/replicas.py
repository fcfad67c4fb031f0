"""Replicas: copies of the database that PostgreSQL updates continuously, from which requests read."""

from mirror.core.config.setting import Setting

SETTINGS = (
    Setting("db.read", "", "Replicas of the database from which REST and contract calls read: hosts "
            "(db1,db2:5433), or an address that names them "
            "(postgresql://mirror_reader:password@db1:5432,db2:5432/name). What it leaves out is that of "
            "DATABASE_URL, or of db.reader. Everything else uses the primary.", secret=True),
    Setting("db.readMaxLag", "30s",
            "A replica that is further behind than this is not used while another server of the database can "
            "be; a node that has no other is not ready.", unit="duration", low=0.1, high=86400),
    Setting("db.readPatience", "1s", "How long a request waits for a block that the node has answered from, "
            "and that no server of the database within reach has; then the answer is 503.", unit="duration",
            low=0, high=60),
    Setting("db.replicas", (), "Addresses and networks whose replicas may follow the node's own database, "
            "which then listens at port 5432 for them; none by default."),
)  # fmt: skip
