"""Loading a stream: where it is, how it is downloaded, what is stored."""

from mirror.core.config.setting import Setting

_PERSIST = "importer.parser.record.entity.persist."

SETTINGS = (
    Setting("importer.startBlockNumber", 0, "The block that a node without any begins with when it follows "
            "blocks; -1 is the earliest that a block node has. Also the number of the first record file "
            "where files carry none (before format 6).", low=-1),
    Setting("importer.startDate", "",
            "Transactions before this time are not stored, for example 2024-06-01T00:00:00Z."),
    Setting("importer.endDate", "", "Transactions after this time are not stored."),
    Setting("importer.balances.start", "auto",
            "A start in the middle of the stream: auto begins after a balance file of the network, with the "
            "balances in it, if there is one; off begins with nothing.", choices=("auto", "off")),
    Setting("importer.balances.reconcile", "auto",
            "Compare the node with each new balance file of the network while following it: auto where all "
            "is stored since a beginning that is known; off never.", choices=("auto", "off")),
    Setting("importer.balances.frequency", "30s", "First pause between looks for a new balance file; it "
            "grows up to five minutes while there is none.", unit="duration", low=1),
    Setting("importer.initialAddressBook", "",
            "File with the first address book, instead of the one bundled for the network."),
    Setting("importer.block.enabled", "AUTO", "Follow blocks instead of record files. AUTO does so once the "
            "database has a block, and where importer.block.cutover.enabled lets a network go over to them.",
            choices=("AUTO", "true", "false")),
    Setting("importer.block.cutover.enabled", "AUTO", "Whether the network goes over from record files to "
            "blocks: both are looked for in turn until the first block is verified. AUTO is true for mainnet "
            "and testnet.", choices=("AUTO", "true", "false")),
    Setting("importer.block.cutover.hapiVersion", "0.76.0",
            "HAPI version of record files from which blocks are looked for."),
    Setting("importer.block.cutover.threshold", "16s",
            "The other stream is looked for when nothing came for so long.", unit="duration", low=8),
    Setting("importer.block.cutover.firstStage.enabled", False,
            "Before that, read record files that come wrapped in blocks, as long as they are not late."),
    Setting("importer.block.cutover.firstStage.hapiVersion", "0.75.0",
            "HAPI version of record files from which wrapped ones are read."),
    Setting("importer.block.cutover.firstStage.latencyCheckThreshold", "10s",
            "How long wrapped ones may have been read before they can be late.", unit="duration", low=0),
    Setting("importer.block.cutover.firstStage.maxLatency", "4s", "They are late when the stream has "
            "advanced by so much less than the clock.", unit="duration", low=0),
    Setting("importer.block.sourceType", "AUTO", "Where blocks come from: block nodes, a bucket or folder "
            "(FILE), or whichever of them works.", choices=("AUTO", "BLOCK_NODE", "FILE")),
    Setting("importer.block.nodes", (), "Block nodes, such as `node1.example.com:40840` or, with all that "
            "can be said of one, `node2.example.com:443 tls priority=1 status=node2.example.com:8443`."),
    Setting("importer.block.autoDiscoveryEnabled", True,
            "Ask the block nodes that are registered with the network, too."),
    Setting("importer.block.allowedNetworks", (), "Networks such as 10.0.0.0/8 in which registered "
            "block nodes may be, besides public addresses. Anyone may register a node; those of "
            "importer.block.nodes may be anywhere."),
    Setting("importer.block.bucketName", "",
            "Bucket of the blocks; by default the public one of the network, if there is one."),
    Setting("importer.block.frequency", "100ms", "Pause before looking again when there is no new block.",
            unit="duration", low=0.01, high=60),
    Setting("importer.block.scheduler.type", "PRIORITY_THEN_LATENCY", "Which block node is preferred: the "
            "one of the lowest priority, the one that has blocks soonest, or the soonest of the lowest "
            "priority.", choices=("PRIORITY_THEN_LATENCY", "PRIORITY", "LATENCY")),
    Setting("importer.block.scheduler.rescheduleLatencyThreshold", "50ms",
            "Another block node is used once it has blocks so much sooner.", unit="duration", low=0),
    Setting("importer.block.scheduler.minRescheduleInterval", "10s",
            "Least time between two such changes.", unit="duration", low=0),
    Setting("importer.block.scheduler.maxPostProcessingLatency", "1s",
            "While loading a block takes longer, there are no such changes.", unit="duration", low=0),
    Setting("importer.block.scheduler.latency.frequency", "10s", "How often the other block nodes are "
            "measured: how soon each has one block after its end.", unit="duration", low=0.05),
    Setting("importer.block.scheduler.latency.timeout", "5s", "How long such a measurement may take.",
            unit="duration", low=0.01),
    Setting("importer.block.scheduler.latency.backlog", 1, "They are measured one after another, and so many "
            "of them wait meanwhile; the others have their turn the next time.", low=0),
    Setting("importer.block.stream.maxBlockItems", 800_000, "The most items of a block.", low=1),
    Setting("importer.block.stream.maxBlockSize", 512 << 20,
            "The most bytes of a block, also of one in a file.", low=1),
    Setting("importer.block.stream.maxStreamResponseSize", 125 << 20,
            "The most bytes of a message of a block node.", low=1),
    Setting("importer.block.stream.maxSubscribeAttempts", 3,
            "After so many failures within some minutes, a block node is left alone for a while.", low=1),
    Setting("importer.block.stream.readmitDelay", "1m", unit="duration", low=0,
            help="How long it is left alone; up to eight times as long if it fails again."),
    Setting("importer.block.stream.responseTimeout", "400ms",
            "How long a block node has to tell which blocks it has.", unit="duration", low=0.01),
    Setting("importer.block.stream.shutdownTimeout", "5s",
            "How long the end of a stream is waited for, before another one begins.", unit="duration", low=0),
    Setting("importer.block.initialLedgerIdPublication", "",
            "File with a serialized LedgerIdPublicationTransactionBody, by which blocks are verified as long "
            "as the stream has published none. Blocks are then trusted as far as this file is."),
    Setting("importer.consensusMode", "STAKE_IN_ADDRESS_BOOK", "Weight of a node's signature: its stake, or "
            "one with EQUAL and wherever no stake is known. The total is that of the nodes in the address "
            "book, or of all nodes with STAKE.", choices=("STAKE_IN_ADDRESS_BOOK", "STAKE", "EQUAL")),
    Setting("importer.nodePublicKey", "", "Key of every node (hex of a DER SubjectPublicKeyInfo) instead of "
            "those in the address book, for test networks."),
    Setting("importer.downloader.consensusRatio", "1/3", "A file is valid when more than this share of the "
            "stake signed it; with 0, when one node did.", unit="share"),
    Setting("importer.downloader.record.enabled", True,
            "Let `manage.py up` follow a stream if its place is set: by importer.downloader.bucketName, "
            "accessKey, endpointOverride, allowAnonymousAccess, or a provider other than S3."),
    Setting("importer.downloader.cloudProvider", "S3", "Where the stream is: Amazon S3 or a compatible "
            "service, Google Cloud Storage (GCP), the folder `importer.dataPath`/streams (LOCAL), or a plain "
            "web server at endpointOverride (HTTP).", choices=("S3", "GCP", "LOCAL", "HTTP")),
    Setting("importer.downloader.bucketName", "",
            "Bucket of the stream; by default the public one of the network, if there is one."),
    Setting("importer.downloader.pathPrefix", "", "Folder of the bucket that holds everything."),
    Setting("importer.downloader.endpointOverride", "",
            "Address of the service instead of the provider's, for example http://localhost:9000."),
    Setting("importer.downloader.region", "us-east-1", "Region of the bucket on S3."),
    Setting("importer.downloader.accessKey", "",
            "Access key (on GCP an HMAC key). By default the credentials come from the environment: AWS_ "
            "or GOOGLE_ variables, or the machine's own. The requester pays for downloads."),
    Setting("importer.downloader.secretKey", "", "Secret of the access key.", secret=True),
    Setting("importer.downloader.allowAnonymousAccess", False, "Send no credentials."),
    Setting("importer.downloader.gcpProjectId", "", "Project that pays for downloads on GCP."),
    Setting("importer.downloader.pathType", "AUTO",
            "Layout of the bucket: folders by node account, by node id, or AUTO: for each node the first "
            "until its files continue in the second.", choices=("ACCOUNT_ID", "NODE_ID", "AUTO")),
    Setting("importer.downloader.pathRefreshInterval", "10s", "How often the files of a node that has no new "
            "ones by account are looked for by its id.", unit="duration", low=0),
    Setting("importer.downloader.batchSize", 25, "Files that are downloaded ahead of loading.", low=1,
            high=1000),
    Setting("importer.downloader.maxConcurrency", 32, "Concurrent requests to the bucket.", low=1, high=1000),
    Setting("importer.downloader.timeout", "5s", "Longest time of a request with its retries.",
            unit="duration", low=0.1),
    Setting("importer.downloader.retries", 3, "How often a failed request is tried again at once.", low=0,
            high=20),
    Setting("importer.downloader.price.read", 0.0004,
            "Price of a thousand downloads from a bucket, for `ingest --estimate`. The defaults are those of "
            "Amazon S3 in us-east-1; Google Cloud Storage takes as much for requests.", unit="USD", low=0),
    Setting("importer.downloader.price.list", 0.005,
            "Price of a thousand listings, of a thousand names each.", unit="USD", low=0),
    Setting("importer.downloader.price.egress", 0.09, "Price of 10^9 bytes that leave the region of the "
            "bucket; 0 for a machine within it, and 0.12 from Google Cloud Storage.", unit="USD", low=0),
    Setting("importer.downloader.record.frequency", "500ms",
            "Pause before looking again when there is nothing new; it doubles up to 30s while the stream "
            "can't be reached.", unit="duration", low=0.01, high=60),
    Setting("importer.downloader.record.writeFiles", False,
            "Archive the record files and sidecars that a quorum has signed, in importer.archive.location."),
    Setting("importer.downloader.record.writeSignatures", False,
            "Archive the signature files of those nodes, too, by which others can verify them."),
    Setting("importer.downloader.record.persistBytes", False,
            "Store record files in the database, in record_file.bytes."),
    Setting("importer.block.persistBytes", False, "Store blocks in the database, in record_file.bytes."),
    Setting("importer.block.writeFiles", False, "Archive the verified blocks in importer.archive.location."),
    Setting("importer.archive.location", "", "Where verified stream files are archived: a folder of its own, "
            "or s3://bucket/path or gs://bucket/path; by default the folder `kept` below the data folder."),
    Setting("importer.archive.period", "0s", "How long stream files are archived, counted back from the last "
            "block; 0 is for ever.", unit="duration", low=0),
    Setting("importer.archive.endpointOverride", "",
            "Address of the service of that bucket instead of the provider's."),
    Setting("importer.archive.region", "us-east-1", "Region of that bucket on S3."),
    Setting("importer.archive.accessKey", "",
            "Access key of that bucket; by default the credentials come from the environment."),
    Setting("importer.archive.secretKey", "", "Secret of that access key.", secret=True),
    Setting("importer.archive.gcpProjectId", "", "Project that pays for that bucket on GCP."),
    Setting("importer.archive.timeout", "10s", "Longest time of a request to that bucket with its retries.",
            unit="duration", low=0.1),
    Setting("importer.dataPath", "data", "Folder whose subfolder streams is the source with LOCAL."),
    Setting("importer.parser.include", "",
            "Store only transactions that match one of these filters, separated by semicolons: "
            "`entity=0.0.1001,0.0.1002 transaction=CRYPTOTRANSFER; transaction=CONSENSUSSUBMITMESSAGE`."),
    Setting("importer.parser.exclude", "",
            "Do not store transactions that match one of these filters, whatever is included."),
    Setting("importer.parser.haltOnError", False,
            "Stop at a problem with one transaction instead of logging it and going on."),
    Setting("importer.retention.enabled", False,
            "Let `up` and `ingest --follow` drop old rows of the tables that are partitioned by month (see "
            "db.partitions). Whole months go, once all of them is older than the period."),
    Setting("importer.retention.period", "90d",
            "How long rows are retained, counted back from the last block.", unit="duration", low=86400),
    Setting("importer.retention.frequency", "1d", "Pause between looks for old rows.",
            unit="duration", low=1),
    Setting("importer.retention.include", (), "Tables that lose old rows; all that can, when empty."),
    Setting("importer.retention.exclude", (), "Tables whose rows are all retained."),
    Setting("importer.retention.tables", (),
            "Periods of single tables, such as contract_action=30d,topic_message=365d."),
    Setting("importer.parser.skip", (), "Consensus timestamps, such as 1700000000.000000001, of transactions "
            "that stop the stream because of a defect of this node. Only the transaction and its hbar "
            "transfers are stored, and `manage.py status` says so all the time."),
    Setting("importer.parser.processes", 0,
            "Processes that read, verify and turn into rows the files of `manage.py ingest PATH` ahead of "
            "their turn; 1 leaves it all to the loader, 0 is one for each core.", low=0, high=64),
    Setting("importer.parser.record.batch.maxItems", 20_000, "Transactions of consecutive files that are "
            "committed together while catching up.", low=1, high=1_000_000),
    Setting("importer.parser.record.sidecar.enabled", True,
            "Read sidecar files: contract state, actions, bytecode."),
    Setting("importer.parser.record.sidecar.persistBytes", False,
            "Store sidecar files in the database, in sidecar_file.bytes."),
    Setting("importer.parser.record.historicalBalance.enabled", True,
            "Take snapshots of all balances, for questions about the past."),
    Setting("importer.parser.record.historicalBalance.initialDelay", "2m",
            "Least time from the first record file to the first snapshot.", unit="duration"),
    Setting("importer.parser.record.historicalBalance.minFrequency", "15m",
            "Least time of the stream from one snapshot to the next.", unit="duration", low=900, high=604800),
    Setting("importer.parser.record.historicalBalance.tokenBalances", True,
            "Include the balances of tokens in snapshots."),
    *(Setting(_PERSIST + name, default, help) for name, default, help in (
        ("claims", False, "Store the live hashes of accounts."),
        ("contracts", True, "Store contracts, their results, logs and sidecars."),
        ("contractResults", True, "Store the results of contract calls, and their logs."),
        ("contractTransaction", True,
         "Store a lookup row for each contract that takes part in a contract transaction."),
        ("contractTransactionHash", True, "Store the lookup of contract results by hash."),
        ("cryptoTransferAmounts", True, "Store hbar transfers, and with them balances."),
        ("entityHistory", True, "Store the versions of entities."),
        ("entityTransactions", False, "Store a lookup row for each entity that a transaction touches."),
        ("entityNftTransactions", False,
         "Store a lookup row for each account that gives or gets an NFT in a transaction it does not pay, "
         "and list these transactions among its own."),
        ("entityTransactionExclusion", ("98", "800", "801", "802"),
         "Entity numbers without such lookup rows: they take part in nearly every transaction."),
        ("ethereumTransactions", True, "Store decoded Ethereum transactions."),
        ("files", True, "Store the contents of files."),
        ("systemFiles", True,
         "Store the contents of files up to number 999 even if those of other files are not stored."),
        ("itemizedTransfers", False,
         "Store the hbar transfers that a transaction requested, in addition to those that happened."),
        ("pendingReward", True, "Compute the pending staking reward of every account, once a day."),
        ("schedules", True, "Store schedules."),
        ("topics", True, "Store the messages of topics."),
        ("syntheticContractLogs", True,
         "Keep contract logs of token transfers and allowances made by no contract, for Ethereum tools."),
        ("syntheticContractLogEvmAddressLookup", True, "Name accounts in these logs by their EVM address."),
        ("syntheticContractLogsMulti", True,
         "Write such logs also for transactions that move more than two tokens."),
        ("syntheticContractResults", False, "Keep contract results of these transactions, too."),
        ("tokens", True, "Store tokens, relationships, token transfers and NFTs."),
        ("tokenAirdrops", True, "Store airdrops; needs persist.tokens."),
        ("trackAllowance", True, "Reduce allowances by the approved transfers that use them."),
        ("trackBalance", True, "Store the current balance of accounts."),
        ("trackNonce", True, "Store the current Ethereum nonce of accounts and contracts."),
        ("transactionBytes", False, "Store the signed bytes of transactions."),
        ("transactionHash", True, "Store the lookup of transactions by hash."),
        ("transactionHashExclusion", ("CONSENSUSSUBMITMESSAGE",),
         "Transaction types without such lookup rows."),
        ("transactionRecordBytes", False, "Store the bytes of transaction records."),
        ("transactionSignatures", ("SCHEDULECREATE", "SCHEDULESIGN"),
         "Transaction types whose signatures are stored."),
    )),
    Setting("importer.parser.record.entity.redis.uri", None,
            "Redis or Valkey on which the messages of topics are published once they are loaded, for the "
            "original's gRPC server (redis://host:6379/0).", secret=True),
    Setting("importer.parser.record.entity.staking.chunkSize", 500_000,
            "Accounts whose pending rewards are computed at once.", low=1),
    Setting("importer.parser.record.entity.staking.chunkDelay", "10s",
            "Pause between two such computations.", unit="duration", low=0, high=3600),
    Setting("importer.db.statementTimeout", "0s", "Longest database statement of a loader, which then stops "
            "with an error; 0 is without end.", unit="duration", low=0, high=86400),
    Setting("importer.db.lockTimeout", "0s", "Longest wait of a loader for a lock of the database; 0 is "
            "without end.", unit="duration", low=0, high=86400),
    Setting("importer.db.idleInTransactionTimeout", "0s",
            "How long a loader's connection may rest within a transaction before the database closes it; 0 "
            "is without end.", unit="duration", low=0, high=86400),
    Setting("importer.smartContractThrottlingVersion", "0.69.0",
            "HAPI version from which a contract call consumes exactly the gas it is charged for."),
)  # fmt: skip
