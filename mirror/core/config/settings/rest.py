"""The REST API: pages, queries, the network's endpoints, caching."""

from mirror.core.config.setting import Setting

SETTINGS = (
    Setting("rest.response.limit.default", 25, "Rows on a page when the request names no limit.", low=1,
            high=10000),
    Setting("rest.response.limit.max", 100, "Most rows on a page.", low=1, high=10000),
    Setting("rest.response.limit.tokenBalance.singleAccount", 1000, "Most token balances of one account.",
            low=1),
    Setting("rest.response.limit.tokenBalance.multipleAccounts", 50,
            "Most token balances of each account in a list.", low=1),
    Setting("rest.chainId", None,
            "The chain id of contract results that are no Ethereum transactions, such as 0x127 of mainnet. "
            "Without it that of the network's own properties (0.0.121), or else 0x128.", unit="hex"),
    Setting("rest.query.maxRepeatedQueryParameters", 100, "How often a query parameter may be repeated.",
            low=1, high=10000),
    Setting("rest.query.timeBudget", "2s",
            "How long the database may work on one list. One that would take longer ends early: its page "
            "is short, or empty, and `links.next` continues where it stopped. For what has no shorter "
            "answer, and with 0 for all, only rest.db.statementTimeout counts.",
            unit="duration", low=0, high=3600),
    Setting("rest.query.bindTimestampRange", False,
            "Always limit the timestamps of transaction queries to a range."),
    Setting("rest.query.maxTransactionsTimestampRange", "60d", "Length of that range.", unit="duration"),
    Setting("rest.query.maxTimestampRange", "7d", "Longest closed timestamp range of contract queries.",
            unit="duration"),
    Setting("rest.query.maxRecordFileCloseInterval", "10s",
            "How long after a page's last contract result its block may end.", unit="duration"),
    Setting("rest.query.maxValidStartTimestampDrift", "1s",
            "How far a transaction may precede its valid start.", unit="duration"),
    Setting("rest.query.maxTransactionConsensusTimestampRange", "35m",
            "How long after its valid start a transaction may reach consensus.", unit="duration"),
    Setting("rest.query.maxScheduledTransactionConsensusTimestampRange", "89285m",
            "The same for scheduled transactions.", unit="duration"),
    Setting("rest.query.transactions.precedingTransactionTypes", ("11", "15"),
            "Numbers of the transaction types whose synthetic records are listed for their payer."),
    Setting("rest.query.syntheticContractResults", True,
            "List transfers and approvals by no contract among the contract results, as they have logs."),
    Setting("rest.query.topicMessageLookup", False,
            "Narrow topic message queries by the table topic_message_lookup (partitioned databases)."),
    Setting("rest.strictParameters", False, "Refuse unknown query parameters of all endpoints with 400. "
            "Spring endpoints, such as airdrops, otherwise ignore them, and name them in a header."),
    Setting("rest.users", "[]", "Users who sign in by HTTP basic authentication and get pages of up to "
            "`limit` rows instead of response.limit.max, as a JSON list of objects with username, password "
            "and limit. Wrong credentials are refused; without any, and while there are no users, clients "
            "are anonymous.", secret=True),
    Setting("rest.rateLimit.requestsPerSecond", 0, "Requests of a client to the API per second, of all web "
            "server processes together; beyond them it is answered with 429. The addresses of a /64 network "
            "of IPv6 are one client. 0 is no limit.", low=0, high=1_000_000),
    Setting("rest.rateLimit.burst", 0, "Requests that a client may make at once, if it has made none for a "
            "while; 0 is those of a second.", low=0, high=1_000_000),
    Setting("rest.rateLimit.exempt", (), "Addresses and networks of clients without such a limit, and "
            "without a share of the processes and limits of contract calls."),
    Setting("rest.request.maxBodySize", 1024, "Largest body of a request.", unit="KB", low=1, high=102400),
    Setting("rest.fee.refreshInterval", "10m", "How long a process estimates fees by the schedule of the "
            "file 0.0.113 before it reads it again.", unit="duration", low=0, high=86400),
    Setting("rest.network.nodes.limit.default", 10, "Nodes on a page when the request names no limit.", low=1,
            high=10000),
    Setting("rest.network.nodes.limit.max", 25, "Most nodes on a page; their certificates are large.", low=1,
            high=10000),
    Setting("rest.network.nodes.exposeAdminKey", False, "List the admin keys of nodes."),
    Setting("rest.network.unreleasedSupplyAccounts",
            ("2", "42", "44-71", "73-87", "99-100", "200-349", "400-750"),
            "Numbers of the accounts whose balances are not released, in the configured shard and realm.",
            unit="ranges"),
    Setting("rest.response.accessList", "hex", "The form of access lists: hex, or array as the original has "
            "had since its release 0.156.", choices=("hex", "array")),
    Setting("rest.response.enableDelegationAddress", False, "Show the delegation addresses of accounts and "
            "the authorization lists of contract results (EIP-7702)."),
    Setting("rest.response.compression", True, "Compress answers for clients that accept it."),
    Setting("rest.response.keepAliveTimeout", "620s", "How long the web server keeps a connection without a "
            "request. A load balancer in front must close idle connections sooner, or it sends requests to "
            "closed ones.", unit="duration", low=1, high=86400),
    Setting("rest.response.includeHostInLink", False,
            "Begin links to the next page with the scheme, the host and the configured port."),
    Setting("rest.stateproof.enabled", False,
            "Answer transactions/{id}/stateproof: proofs that the network has agreed on a transaction."),
    Setting("rest.stateproof.addressBookHistory", False,
            "Put all address books up to the transaction into its proof, instead of the one of its time."),
    Setting("rest.stateproof.streams.cloudProvider", None, "Where the signed files for proofs are, if not "
            "where importer.downloader.cloudProvider says. The same goes for the next settings: each that is "
            "not set is that of importer.downloader.", choices=("S3", "GCP", "LOCAL", "HTTP")),
    Setting("rest.stateproof.streams.network", None,
            "Network whose public bucket has them, if not that of `network`."),
    Setting("rest.stateproof.streams.bucketName", None, "Bucket of these files."),
    Setting("rest.stateproof.streams.endpointOverride", None,
            "Address of the service that has them. Without credentials in addition, requests have none."),
    Setting("rest.stateproof.streams.region", None, "Region of the bucket on S3."),
    Setting("rest.stateproof.streams.accessKey", None, "Access key."),
    Setting("rest.stateproof.streams.secretKey", None, "Secret of the access key.", secret=True),
    Setting("rest.stateproof.streams.gcpProjectId", None, "Project that pays for downloads on GCP."),
    Setting("rest.stateproof.streams.httpOptions.timeout", "5s", "Longest time to download the files of a "
            "proof. Those that are late are missing.", unit="duration", low=0.1, high=3600),
    Setting("rest.cache.response.enabled", True, "Cache answers for as long as clients may: in Redis if "
            "there is one, otherwise in each web server process."),
    Setting("rest.cache.response.compress", True, "Compress cached answers by gzip."),
    Setting("rest.cache.response.compressThreshold", 150, "Smaller answers are cached uncompressed.",
            unit="bytes", low=0),
    Setting("rest.cache.response.maxSize", 16, "Most memory of a process for cached answers, without Redis.",
            unit="MB", low=1, high=4096),
    Setting("rest.cache.feeSchedule.maxAge", "1h", "How long a web server process remembers the price of gas "
            "of an hour, and the chain id.", unit="duration", low=0),
    Setting("rest.cache.feeSchedule.maxSize", 100, "The number of hours whose price of gas it remembers.",
            low=1, high=100000),
    Setting("rest.redis.uri", None, "Redis or Valkey for a shared cache (redis://host:6379/0). Without it "
            "each web server process has its own.", environment="REDIS_URL", secret=True),
    Setting("rest.redis.connectTimeout", "100ms", "Longest wait for a connection to Redis.",
            unit="duration", low=0.001, high=60),
    Setting("rest.redis.commandTimeout", "100ms", "Longest wait for an answer from Redis. If it fails or "
            "takes longer, requests are answered without it for 5 s.", unit="duration", low=0.001, high=60),
    Setting("rest.db.statementTimeout", "20s",
            "Longest database statement of a request; beyond it the answer is 503.", unit="duration"),
    Setting("rest.db.lockTimeout", "5s", "Longest wait of a request for a lock of the database; beyond it "
            "the answer is 503. 0 is without end.", unit="duration", low=0, high=3600),
    Setting("rest.db.idleInTransactionTimeout", "1m",
            "How long a connection of the web server may rest within a transaction before the database "
            "closes it; 0 is without end.", unit="duration", low=0, high=86400),
    Setting("rest.db.idleTimeout", "0s",
            "How long a connection of the web server may rest before the database closes it; the next "
            "request opens another. 0 is without end.", unit="duration", low=0, high=86400),
)  # fmt: skip
