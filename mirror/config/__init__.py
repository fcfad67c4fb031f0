"""Every operator setting, once: name, default, unit, range and help.

A setting's property name is `svc.mirror.` + its name; its environment form is the property name in upper
case with dots replaced by underscores (`svc.mirror.rest.response.limit.max` is
`SVC_MIRROR_REST_RESPONSE_LIMIT_MAX`). A few settings that other software already knows by a shorter
variable (`DATABASE_URL`) name it themselves.

No other module reads the environment. `manage.py settings` prints this table, also as docs/settings.md.
"""

import difflib
import os
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from mirror.config.setting import PREFIX, InvalidSetting, Setting

_VARIABLE_PREFIX = PREFIX.upper().replace(".", "_")
# Units whose defaults are written as an operator would.
_READ_DEFAULTS = {"duration", "share"}

SETTINGS: tuple[Setting, ...] = (
    # The node
    Setting("data", "data", "Folder of everything the node keeps: its database, logs and the demo stream."),
    Setting("db.url", None,
            "PostgreSQL to use (postgresql://user:password@host:5432/name, version 15 or later). "
            "Without it the node starts its own.",
            environment="DATABASE_URL", secret=True),
    Setting("network", "demo", "Name of the network whose stream is mirrored."),
    Setting("demo.blocks", 400, "Blocks of history that the demo network of `up` begins with, of about 50 "
            "transactions each.", low=1, high=100_000),
    Setting("demo.seed", 1, "What decides all that happens in the demo network.", low=0),
    Setting("common.shard", 0, "Shard filled in where an id names none.", low=0, high=1023),
    Setting("common.realm", 0, "Realm filled in where an id names none.", low=0, high=65535),
    Setting("clock.now", None,
            "Seconds since the epoch at which the clock stands still, for tests that need a fixed time.",
            unit="seconds", kind=float),
    # The web server
    Setting("web.host", "127.0.0.1", "Address the web server listens on."),
    Setting("web.port", 8000, "Port the web server listens on.", low=1, high=65535, environment="PORT"),
    Setting("web.workers", 2, "Web server processes.", low=1, high=64),
    Setting("web.threads", 4,
            "Requests that each web server process works on at a time, with a database connection each.",
            low=1, high=64),
    Setting("web.bodyTimeout", "10s",
            "How long a client may take to send the body of its request before its connection is closed.",
            unit="duration", low=1, high=3600),
    Setting("web.stalledTimeout", "30s",
            "How long a client may take nothing of its answer before its connection is closed.",
            unit="duration", low=1, high=3600),
    Setting("web.allowedHosts", ("*",), "Host names the node answers to; * is any."),
    Setting("web.secretKey", "", "Signs admin sessions. Made and kept in the data folder when empty.",
            secret=True),
    Setting("web.adminOrigins", (),
            "Addresses such as https://mirror.example.org at which a proxy serves /admin over HTTPS; the "
            "admin's cookies are then for HTTPS only."),
    # Loading record files
    Setting("importer.startBlockNumber", 0,
            "Number of the first block when the files carry none (before format 6)."),
    Setting("importer.startDate", "",
            "Transactions before this time are not stored, for example 2024-06-01T00:00:00Z."),
    Setting("importer.endDate", "", "Transactions after this time are not stored."),
    Setting("importer.initialAddressBook", "",
            "File with the address book to begin with, instead of the one bundled for the network."),
    Setting("importer.consensusMode", "STAKE_IN_ADDRESS_BOOK",
            "What a node's signature weighs: its stake, the total being that of the nodes of the address "
            "book or of all with STAKE; or one each with EQUAL, and wherever no stake is known.",
            choices=("STAKE_IN_ADDRESS_BOOK", "STAKE", "EQUAL")),
    Setting("importer.nodePublicKey", "",
            "Key of every node (hex of a DER SubjectPublicKeyInfo) in place of those of the address book, "
            "for test networks."),
    Setting("importer.downloader.consensusRatio", "1/3",
            "A file counts when more than this share of the stake signed it; 0: when one node did.",
            unit="share"),
    Setting("importer.downloader.record.enabled", True,
            "Let `manage.py up` follow a stream where one of the settings importer.downloader.bucketName, "
            "accessKey, endpointOverride, allowAnonymousAccess or another provider than S3 says where it "
            "is."),
    Setting("importer.downloader.cloudProvider", "S3",
            "Where the stream is: Amazon S3 or what speaks like it, Google Cloud Storage (GCP), the folder "
            "`importer.dataPath`/streams (LOCAL), or a plain web server at endpointOverride (HTTP).",
            choices=("S3", "GCP", "LOCAL", "HTTP")),
    Setting("importer.downloader.bucketName", "",
            "Bucket of the stream; by default that of the network, where it has a public one."),
    Setting("importer.downloader.pathPrefix", "", "Folder of the bucket that everything is in."),
    Setting("importer.downloader.endpointOverride", "",
            "Address of the service instead of the provider's, for example http://localhost:9000."),
    Setting("importer.downloader.region", "us-east-1", "Region of the bucket on S3."),
    Setting("importer.downloader.accessKey", "",
            "Access key (on GCP an HMAC key). By default the credentials are those of the environment: AWS_ "
            "or GOOGLE_ variables, or what the machine is given. The requester pays for downloads."),
    Setting("importer.downloader.secretKey", "", "Its secret.", secret=True),
    Setting("importer.downloader.allowAnonymousAccess", False, "Send no credentials."),
    Setting("importer.downloader.gcpProjectId", "", "Project that pays for downloads on GCP."),
    Setting("importer.downloader.pathType", "AUTO",
            "Layout of the bucket: folders by node account, by node id, or for each node the first until its "
            "files continue in the second.",
            choices=("ACCOUNT_ID", "NODE_ID", "AUTO")),
    Setting("importer.downloader.pathRefreshInterval", "10s",
            "How often a node without new files by account is looked for by id.", unit="duration", low=0),
    Setting("importer.downloader.batchSize", 25, "Files downloaded ahead of those being loaded.", low=1,
            high=1000),
    Setting("importer.downloader.maxConcurrency", 32, "Requests to the bucket at once.", low=1, high=1000),
    Setting("importer.downloader.timeout", "30s", "Longest time of a request and its retries.",
            unit="duration", low=0.1),
    Setting("importer.downloader.retries", 3, "How often a failed request is tried again at once.", low=0,
            high=20),
    Setting("importer.downloader.record.frequency", "500ms",
            "Pause before looking again when there is nothing new; it doubles up to 30s while nothing can be "
            "had.",
            unit="duration", low=0.01, high=60),
    Setting("importer.dataPath", "data", "Folder whose sub-folder streams is the source with LOCAL."),
    Setting("importer.parser.include", "",
            "Store only transactions that match one of these filters, separated by semicolons: "
            "`entity=0.0.1001,0.0.1002 transaction=CRYPTOTRANSFER; transaction=CONSENSUSSUBMITMESSAGE`."),
    Setting("importer.parser.exclude", "",
            "Do not store transactions that match one of these filters, whatever is included."),
    Setting("importer.parser.haltOnError", False,
            "Stop at a problem of one transaction that otherwise is logged and passed over."),
    Setting("importer.parser.passOver", (),
            "Consensus timestamps, such as 1700000000.000000001, of transactions that stop the stream by a "
            "defect of this node: of these only the transaction and its hbar transfers are stored, and "
            "`manage.py status` keeps saying so."),
    Setting("importer.parser.record.batch.maxItems", 20_000,
            "Transactions of consecutive files that are committed together while catching up.", low=1,
            high=1_000_000),
    Setting("importer.parser.record.sidecar.enabled", True,
            "Read sidecar files: contract state, actions, bytecode."),
    Setting("importer.parser.record.historicalBalance.enabled", True,
            "Take snapshots of all balances, for questions about the past."),
    Setting("importer.parser.record.historicalBalance.initialDelay", "2m",
            "How long after the first record file the first snapshot may be.", unit="duration"),
    Setting("importer.parser.record.historicalBalance.minFrequency", "15m",
            "Least time of the stream from one snapshot to the next.", unit="duration", low=900, high=604800),
    Setting("importer.parser.record.historicalBalance.tokenBalances", True,
            "Let snapshots hold the balances of tokens, too."),
    Setting("importer.parser.record.entity.persist.claims", False, "Keep the live hashes of accounts."),
    Setting("importer.parser.record.entity.persist.contracts", True,
            "Keep contracts, their results, logs and sidecars."),
    Setting("importer.parser.record.entity.persist.contractResults", True,
            "Keep the results of contract calls, and their logs."),
    Setting("importer.parser.record.entity.persist.contractTransaction", True,
            "Keep a lookup row per contract that takes part in a contract transaction."),
    Setting("importer.parser.record.entity.persist.contractTransactionHash", True,
            "Keep the lookup of contract results by hash."),
    Setting("importer.parser.record.entity.persist.cryptoTransferAmounts", True,
            "Keep hbar transfers, and with them balances."),
    Setting("importer.parser.record.entity.persist.entityHistory", True, "Keep the versions of entities."),
    Setting("importer.parser.record.entity.persist.entityTransactions", False,
            "Keep a lookup row per entity a transaction touches."),
    Setting("importer.parser.record.entity.persist.entityTransactionExclusion", ("98", "800", "801"),
            "Entity numbers without such lookup rows: they take part in nearly every transaction."),
    Setting("importer.parser.record.entity.persist.ethereumTransactions", True,
            "Keep decoded Ethereum transactions."),
    Setting("importer.parser.record.entity.persist.files", True, "Keep the contents of files."),
    Setting("importer.parser.record.entity.persist.systemFiles", True,
            "Keep the contents of files up to number 999, even if those of others are not kept."),
    Setting("importer.parser.record.entity.persist.itemizedTransfers", False,
            "Keep the hbar transfers a transaction asked for, beside those that happened."),
    Setting("importer.parser.record.entity.persist.pendingReward", True,
            "Compute what every account is owed for staking, once a day."),
    Setting("importer.parser.record.entity.persist.schedules", True, "Keep schedules."),
    Setting("importer.parser.record.entity.persist.topics", True, "Keep the messages of topics."),
    Setting("importer.parser.record.entity.persist.syntheticContractLogs", True,
            "Keep a contract log of token transfers and allowances no contract made, for Ethereum tools."),
    Setting("importer.parser.record.entity.persist.syntheticContractLogEvmAddressLookup", True,
            "Name accounts in such logs of transfers by their EVM address."),
    Setting("importer.parser.record.entity.persist.syntheticContractResults", False,
            "Keep a contract result of such transactions, too."),
    Setting("importer.parser.record.entity.persist.tokens", True,
            "Keep tokens, relationships, token transfers and NFTs."),
    Setting("importer.parser.record.entity.persist.tokenAirdrops", True,
            "Keep airdrops; needs tokens too."),
    Setting("importer.parser.record.entity.persist.trackAllowance", True,
            "Lower allowances by the approved transfers that use them."),
    Setting("importer.parser.record.entity.persist.trackBalance", True,
            "Keep the current balance of accounts."),
    Setting("importer.parser.record.entity.persist.trackNonce", True,
            "Keep the current Ethereum nonce of accounts and contracts."),
    Setting("importer.parser.record.entity.persist.transactionBytes", False,
            "Keep the signed bytes of transactions."),
    Setting("importer.parser.record.entity.persist.transactionHash", True,
            "Keep the lookup of transactions by hash."),
    Setting("importer.parser.record.entity.persist.transactionHashExclusion", ("CONSENSUSSUBMITMESSAGE",),
            "Transaction types without such lookup rows."),
    Setting("importer.parser.record.entity.persist.transactionRecordBytes", False,
            "Keep the bytes of transaction records."),
    Setting("importer.parser.record.entity.persist.transactionSignatures",
            ("SCHEDULECREATE", "SCHEDULESIGN"),
            "Transaction types whose signatures are kept."),
    Setting("importer.smartContractThrottlingVersion", "0.69.0",
            "HAPI version from which a contract call consumes exactly the gas it is charged for."),
    # REST
    Setting("rest.response.limit.default", 25, "Rows of a page when the request names no limit.", low=1,
            high=10000),
    Setting("rest.response.limit.max", 100, "Most rows of a page.", low=1, high=10000),
    Setting("rest.response.limit.tokenBalance.singleAccount", 1000, "Most token balances of one account.",
            low=1),
    Setting("rest.response.limit.tokenBalance.multipleAccounts", 50,
            "Most token balances per account of a list.", low=1),
    Setting("rest.query.maxRepeatedQueryParameters", 100, "How often a query parameter may be repeated.",
            low=1, high=10000),
    Setting("rest.query.bindTimestampRange", False, "Always bound the timestamps of transaction queries."),
    Setting("rest.query.maxTransactionsTimestampRange", "60d", "Length of that bound.", unit="duration"),
    Setting("rest.query.maxTimestampRange", "7d", "Longest closed timestamp range of contract queries.",
            unit="duration"),
    Setting("rest.query.maxRecordFileCloseInterval", "10s",
            "How long after a page's last contract result a block may end to be shown.", unit="duration"),
    Setting("rest.query.maxValidStartTimestampDrift", "1s",
            "How far a transaction may precede its valid start.", unit="duration"),
    Setting("rest.query.maxTransactionConsensusTimestampRange", "35m",
            "How long after its valid start a transaction is looked for.", unit="duration"),
    Setting("rest.query.maxScheduledTransactionConsensusTimestampRange", "89285m",
            "The same for a scheduled transaction.", unit="duration"),
    Setting("rest.query.transactions.precedingTransactionTypes", ("11", "15"),
            "Numbers of the transaction types whose synthetic records are listed for their payer."),
    Setting("rest.query.topicMessageLookup", False,
            "Narrow topic message queries by the topic_message_lookup table (partitioned databases)."),
    Setting("rest.request.maxBodySize", 1024, "Largest body of a request.", unit="KB", low=1, high=102400),
    Setting("rest.network.nodes.limit.default", 10, "Nodes of a page when the request names no limit.", low=1,
            high=10000),
    Setting("rest.network.nodes.limit.max", 25, "Most nodes of a page: their certificates are large.", low=1,
            high=10000),
    Setting("rest.network.nodes.exposeAdminKey", False, "List the admin keys of nodes."),
    Setting("rest.network.unreleasedSupplyAccounts",
            ("2", "42", "44-71", "73-87", "99-100", "200-349", "400-750"),
            "Accounts whose balances are not released, by their numbers in the configured shard and realm.",
            unit="ranges"),
    Setting("rest.response.compression", True, "Compress answers for clients that accept it."),
    Setting("rest.response.includeHostInLink", False,
            "Let links to the next page begin with the scheme, the host and the configured port."),
    Setting("rest.cache.response.enabled", True,
            "Keep answers for as long as their clients may keep them: in Redis if there is one, otherwise in "
            "each web server process."),
    Setting("rest.cache.response.compress", True, "Keep them in gzip."),
    Setting("rest.cache.response.compressThreshold", 150, "Those of fewer bytes are kept as they are.",
            unit="bytes", low=0),
    Setting("rest.cache.response.maxSize", 16, "Most memory of a process for them, without Redis.",
            unit="MB", low=1, high=4096),
    Setting("rest.redis.uri", None,
            "Redis or Valkey to share kept answers through (redis://host:6379/0). Without it each web server "
            "process keeps its own.",
            environment="REDIS_URL", secret=True),
    Setting("rest.redis.connectTimeout", "100ms", "Longest wait for a connection to Redis.",
            unit="duration", low=0.001, high=60),
    Setting("rest.redis.commandTimeout", "100ms",
            "Longest wait for an answer of Redis. One that fails or is slower is left alone for 5 s, and "
            "requests are answered without it.",
            unit="duration", low=0.001, high=60),
    Setting("rest.db.statementTimeout", "20s",
            "Longest database statement of a request; beyond it the answer is 503.", unit="duration"),
    # Simulated contract calls: the state they see
    Setting("web3.evm.network", "AUTO",
            "Which network contracts see: the chain id is 295 on MAINNET, 296 on TESTNET, 297 on PREVIEWNET, "
            "298 on OTHER. AUTO: as the network's own properties say (file 0.0.121), else as on TESTNET.",
            choices=("AUTO", "MAINNET", "TESTNET", "PREVIEWNET", "OTHER")),
    Setting("web3.evm.allowLongZeroAddresses", False,
            "Let contracts also use the long-zero address of an account that has an EVM address of its own."),
    Setting("web3.evm.entityNumBuffer", 1000,
            "How far above the highest number of an entity the number of a created contract is.", low=0,
            high=1_000_000),
    Setting("web3.evm.storageFallback", False,
            "At a past block, read a storage slot of which no change is known by then as it is now; else it "
            "is zero."),
    Setting("web3.cache.block.expireAfterWrite", "500ms", "How long a block is kept in memory.",
            unit="duration", low=0, high=3600),
    Setting("web3.cache.block.maximumSize", 1000, "Blocks that are kept.", low=1, high=1_000_000),
    Setting("web3.cache.contract.expireAfterAccess", "60m", "How long unused code is kept.",
            unit="duration", low=0),
    Setting("web3.cache.contract.maximumSize", 1000, "Contracts whose code is kept.", low=1, high=1_000_000),
    Setting("web3.cache.contractState.expireAfterWrite", "2s", "How long the value of a slot is kept.",
            unit="duration", low=0, high=3600),
    Setting("web3.cache.contractState.maximumSize", 25_000, "Slots whose values are kept.", low=1,
            high=10_000_000),
    Setting("web3.cache.enableBatchContractSlotCaching", True,
            "Read the slots a contract used before together, as soon as it uses one of them."),
    Setting("web3.cache.contractSlots.expireAfterAccess", "5m",
            "How long it is remembered which slots a contract used.", unit="duration", low=0),
    Setting("web3.cache.contractSlots.maximumSize", 3000, "Contracts of which that is remembered.", low=1,
            high=1_000_000),
    Setting("web3.cache.slotsPerContract.maximumSize", 1500, "Most slots remembered of a contract.", low=1,
            high=100_000),
    Setting("web3.cache.entity.expireAfterWrite", "1s", "How long accounts and contracts are kept.",
            unit="duration", low=0, high=3600),
    Setting("web3.cache.entity.maximumSize", 10_000, "Accounts and contracts that are kept.", low=1,
            high=10_000_000),
    Setting("web3.cache.token.expireAfterWrite", "1s",
            "How long tokens, balances of tokens, NFTs and allowances are kept.", unit="duration", low=0,
            high=3600),
    Setting("web3.cache.token.maximumSize", 10_000, "How many of these are kept.", low=1, high=10_000_000),
    Setting("web3.db.statementTimeout", "3s",
            "Longest database statement of a simulated call; beyond it the answer is 503.", unit="duration",
            low=0.001),
    # Contract calls
    Setting("web3.workers", 2, "Processes of each web server process that run contract calls.", low=1,
            high=64),
    Setting("web3.workerMemory", 512, "Memory a call may take; one that wants more is refused.", unit="MB",
            low=64, high=65536),
    Setting("web3.workerCalls", 100_000, "Calls after which such a process makes room for a fresh one.",
            low=1),
    Setting("web3.cache.fee.expireAfterWrite", "10m", "How long the price of gas and the chain id are kept.",
            unit="duration", low=0),
    Setting("web3.requestTimeout", "10s", "Longest time of a contract call; beyond it the answer is 503.",
            unit="duration", low=1, high=600),
    Setting("web3.maxResultSize", 1024,
            "Longest result or revert data of a contract call; beyond it the answer is 400. An answer has "
            "two characters for each byte, and stays in memory until its client has taken it.", unit="KB",
            low=1, high=1_000_000),
    Setting("web3.maxPayloadLogSize", 300, "Most characters of a request that a filter writes to the log.",
            unit="characters", low=0),
    Setting("web3.evm.engine", "pyevm-blocks",
            "What runs contract calls: py-evm as it is, or with its code translated block by block.",
            choices=("pyevm", "pyevm-blocks")),
    Setting("web3.evm.maxGasLimit", 15_000_000, "Most gas of a call.", unit="gas", low=21_000),
    Setting("web3.evm.maxGasRefundPercentage", 100,
            "How much of a call's gas limit may go unused: with 20 a call counts as using at least 80 %.",
            unit="percent", low=1, high=100),
    Setting("web3.evm.estimateGasIterationThresholdPercent", 0.10,
            "An estimate may stop when two attempts lie closer together than this share of the gas used.",
            low=0, high=1),
    Setting("web3.evm.maxGasEstimateRetriesCount", 20, "Most attempts of an estimate after its first run.",
            low=0, high=1000),
    Setting("web3.evm.minimumAccountBalance", 100_000_000_000_000_000,
            "Accounts can pay at least this much where their balance is not to be checked.", unit="tinybars",
            low=0),
    Setting("web3.evm.validatePayerBalance", True,
            "Refuse calls that `from` could not pay, if they name it and a value or a gas price."),
    Setting("web3.evm.properties.jumboTransactions.ethereumMaxCallDataSize", 131_072,
            "Most data of a call. A request may have twice as many characters and 1,024 more.", unit="bytes",
            low=0, high=100_000_000),
    Setting("web3.opcode.tracer.enabled", True,
            "Serve the operations of past transactions; without it that path is unknown."),
    Setting("web3.opcode.tracer.timeout", "120s",
            "Longest time of such an answer once it has begun, which web3.requestTimeout limits; beyond it "
            "the answer breaks off.", unit="duration", low=1, high=3600),
    Setting("web3.throttle.requestsPerSecond", 500, "Contract calls per second.", low=1),
    Setting("web3.throttle.gasPerSecond", 1_000_000_000, "Gas of contract calls per second.",
            unit="units of gas", low=1, high=1_000_000_000),
    Setting("web3.throttle.gasUnit", 1, "How much gas one of these units is.", unit="gas", low=1),
    Setting("web3.throttle.gasLimitRefundPercent", 100,
            "How much of a call's gas limit is given back at most if the call does not use it.",
            unit="percent", low=0, high=100),
    Setting("web3.throttle.request", "[]",
            "Filters of contract calls, as a JSON list; the guide to contract calls explains them."),
    *(Setting(f"web3.evm.{name}", default, "Accepted for compatibility, without effect.")
      for name, default in (
          ("modularizedServices", True),
          ("modularizedTrafficPercent", 1.0),
          ("directTokenCall", True),
          ("dynamicEvmVersion", False),
          ("evmVersion", "0.51"),
          ("evmVersions", ""),
          ("exchangeRateGasReq", 100),
          ("htsDefaultGasCost", 10_000),
          ("maxBatchSizeMint", 10),
          ("maxBatchSizeBurn", 10),
          ("maxBatchSizeWipe", 10),
          ("maxCustomFeesAllowed", 10),
          ("maxMemoUtf8Bytes", 100),
          ("maxTokenNameUtf8Bytes", 100),
          ("maxTokenSymbolUtf8Bytes", 100),
          ("maxNftMetadataBytes", 100),
          ("maxTokensPerAccount", 1000),
          ("minAutoRenewDuration", 2_592_000),
          ("maxAutoRenewDuration", 8_000_001),
          ("fundingAccount", "0x0000000000000000000000000000000000000062"),
      )),
)  # fmt: skip

_BY_NAME = {setting.name: setting for setting in SETTINGS}
# Those that have a shorter variable, by the one their name would give.
_BY_OTHER_NAME = {
    setting.property_name.upper().replace(".", "_"): setting for setting in SETTINGS if setting.environment
}


def load(environment: Mapping[str, str]) -> dict[str, Any]:
    """Every setting's value under `environment`; raises InvalidSetting for the first that is not usable."""
    known = {setting.variable for setting in SETTINGS}
    for variable in environment:
        if variable.startswith(_VARIABLE_PREFIX) and variable not in known:
            if setting := _BY_OTHER_NAME.get(variable):
                raise InvalidSetting(f"The {setting.name.rpartition('.')[2]} is set by {setting.variable}.")
            near = difflib.get_close_matches(variable, known, n=1)
            meant = f"did you mean {near[0]}?" if near else "`manage.py settings` lists all."
            raise InvalidSetting(f"No setting is called {variable}: {meant}")
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        text = environment.get(setting.variable)
        if text is None or text == "":
            default = setting.default
            values[setting.name] = (
                setting.read(str(default)) if setting.unit in _READ_DEFAULTS and default else default
            )
        else:
            values[setting.name] = setting.read(text)
    return values


@cache
def _loaded() -> dict[str, Any]:
    return load(os.environ)


def value(name: str) -> Any:
    """The value of the setting `name` (without the prefix) in this process; read once, at first use."""
    return _loaded()[name]


def values() -> dict[str, Any]:
    """Those of all settings in this process, by name."""
    return dict(_loaded())


def described(name: str) -> Setting:
    """The setting's entry in the table."""
    return _BY_NAME[name]


def as_text(values: Mapping[str, Any]) -> str:
    """The table for a terminal, with the values in force where they differ from the defaults."""
    defaults = load({})
    entries = []
    for setting in SETTINGS:
        lines = [setting.property_name, f"    {setting.variable}={setting.default_text}"]
        if values[setting.name] != defaults[setting.name]:
            now = "(secret)" if setting.secret else values[setting.name]
            lines.append(f"    now: {now}")
        lines += textwrap.wrap(
            setting.explanation,
            100,
            initial_indent=" " * 4,
            subsequent_indent=" " * 4,
            break_on_hyphens=False,
        )
        entries.append("\n".join(lines))
    return "\n\n".join(entries)


def as_markdown() -> str:
    """The table as docs/settings.md shows it."""
    rows = "".join(
        f"| `{setting.property_name}`<br>`{setting.variable}` "
        f"| {f'`{setting.default_text}`' if setting.default_text else ''} "
        f"| {setting.explanation.replace('|', '&#124;')} |\n"
        for setting in SETTINGS
    )
    return (
        "# Settings\n\n"
        "Each setting is read from the environment variable below its name. `manage.py settings` prints them "
        "with\nthe values in force; a value that can't be used ends every command with a sentence that says "
        "why.\n\n"
        f"| Name, variable | Default | Meaning |\n|---|---|---|\n{rows}"
    )


def overridden(changes: Mapping[str, Any]) -> Callable[[], None]:
    """Change values of this process, for tests; returns the function that restores them."""
    unknown = changes.keys() - _BY_NAME.keys()
    if unknown:
        raise InvalidSetting(f"No setting is called {', '.join(sorted(unknown))}.")
    before = dict(_loaded())
    _loaded().update(changes)

    def restore() -> None:
        _loaded().clear()
        _loaded().update(before)

    return restore
