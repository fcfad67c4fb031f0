"""Simulated contract calls: the state they see, their engine, their limits."""

from mirror.core.config.setting import Setting

SETTINGS = (
    # The state that calls see
    Setting("web3.evm.network", "AUTO", "Network that contracts see: the chain id is 295 on MAINNET, 296 on "
            "TESTNET, 297 on PREVIEWNET, 298 on OTHER. AUTO takes it from the network's own properties (file "
            "0.0.121), else TESTNET's.", choices=("AUTO", "MAINNET", "TESTNET", "PREVIEWNET", "OTHER")),
    Setting("web3.evm.allowLongZeroAddresses", False,
            "Let contracts also use the long-zero address of an account that has an EVM address of its own."),
    Setting("web3.evm.entityNumBuffer", 1000, "Distance from the highest entity number to that of a contract "
            "created in a call.", low=0, high=1_000_000),
    Setting("web3.evm.storageFallback", False, "At a past block, read a storage slot without a known earlier "
            "change as it is now, instead of as zero."),
    Setting("web3.enableStateOverrides", True,
            "Let calls replace stored values of accounts (`state_overrides`)."),
    Setting("web3.cache.block.expireAfterWrite", "500ms", "How long a block is cached.",
            unit="duration", low=0, high=3600),
    Setting("web3.cache.block.maximumSize", 1000, "Cached blocks.", low=1, high=1_000_000),
    Setting("web3.cache.contract.expireAfterAccess", "60m", "How long unused code is cached.",
            unit="duration", low=0),
    Setting("web3.cache.contract.maximumSize", 1000, "Contracts whose code is cached.", low=1,
            high=1_000_000),
    Setting("web3.cache.contractState.expireAfterWrite", "2s", "How long the value of a slot is cached.",
            unit="duration", low=0, high=3600),
    Setting("web3.cache.contractState.maximumSize", 25_000, "Slots whose values are cached.", low=1,
            high=10_000_000),
    Setting("web3.cache.enableBatchContractSlotCaching", True,
            "Read all slots that a contract has used before as soon as it uses one of them."),
    Setting("web3.cache.contractSlots.expireAfterAccess", "5m",
            "How long the slots that a contract has used are remembered.", unit="duration", low=0),
    Setting("web3.cache.contractSlots.maximumSize", 3000, "Contracts whose slots are remembered.", low=1,
            high=1_000_000),
    Setting("web3.cache.slotsPerContract.maximumSize", 1500, "Most remembered slots of a contract.", low=1,
            high=100_000),
    Setting("web3.cache.entity.expireAfterWrite", "1s", "How long accounts and contracts are cached.",
            unit="duration", low=0, high=3600),
    Setting("web3.cache.entity.maximumSize", 10_000, "Cached accounts and contracts.", low=1,
            high=10_000_000),
    Setting("web3.cache.token.expireAfterWrite", "1s", "How long tokens, token balances, NFTs and allowances "
            "are cached.", unit="duration", low=0, high=3600),
    Setting("web3.cache.token.maximumSize", 10_000, "Cached tokens, token balances, NFTs and allowances.",
            low=1, high=10_000_000),
    Setting("web3.db.statementTimeout", "3s", "Longest database statement of a simulated call; beyond it the "
            "answer is 503.", unit="duration", low=0.001),
    # Calls
    Setting("web3.workers", 2, "Processes that run contract calls, for each web server process.", low=1,
            high=64),
    Setting("web3.workerMemory", 512, "Most memory of a call; one that needs more is refused.", unit="MB",
            low=64, high=65536),
    Setting("web3.workerCalls", 100_000, "Calls after which such a process is replaced by a fresh one.",
            low=1),
    Setting("web3.cache.fee.expireAfterWrite", "10m",
            "How long the price of gas and the chain id are cached; the price for calls on the current state "
            "only until the next block.", unit="duration", low=0),
    Setting("web3.requestTimeout", "10s", "Longest time of a contract call; beyond it the answer is 503.",
            unit="duration", low=1, high=600),
    Setting("web3.maxResultSize", 1024, "Longest result or revert data of a contract call; beyond it the "
            "answer is 400. An answer has two characters for each byte, and stays in memory until its client "
            "has read it.", unit="KB", low=1, high=1_000_000),
    Setting("web3.maxPayloadLogSize", 300, "Most that a filter writes to the log of a request.",
            unit="characters", low=0),
    Setting("web3.evm.engine", "pyevm-blocks", "Engine of contract calls: py-evm, or py-evm with code "
            "translated block by block.", choices=("pyevm", "pyevm-blocks")),
    Setting("web3.evm.evmVersion", "0.67",
            "Version of the network's EVM that calls run in, except at past blocks that have another.",
            choices=("0.30", "0.34", "0.38", "0.46", "0.50", "0.51", "0.65", "0.66", "0.67", "0.70", "0.77")),
    Setting("web3.evm.evmVersions", "",
            "Versions of the network's EVM at past blocks, as a JSON object of first blocks and versions. If "
            "it is empty, mainnet has its own versions, and other networks have none."),
    Setting("web3.evm.maxGasLimit", 15_000_000, "Most gas of a call.", unit="gas", low=21_000),
    Setting("web3.evm.maxGasRefundPercentage", 100, "Share of a call's gas limit that may go unused: with 20 "
            "a call uses at least 80 %.", unit="percent", low=1, high=100),
    Setting("web3.evm.estimateGasIterationThresholdPercent", 0.10, "An estimate may stop when two attempts "
            "differ by less than this share of the gas used.", low=0, high=1),
    Setting("web3.evm.maxGasEstimateRetriesCount", 20, "Most attempts of an estimate after its first run.",
            low=0, high=1000),
    Setting("web3.evm.minimumAccountBalance", 100_000_000_000_000_000,
            "Least balance of accounts where balances are not checked.", unit="tinybars", low=0),
    Setting("web3.evm.validatePayerBalance", True,
            "Refuse calls that `from` can't pay for, if they name it and a value or a gas price."),
    Setting("web3.evm.properties.jumboTransactions.ethereumMaxCallDataSize", 131_072,
            "Most data of a call.", unit="bytes", low=0, high=100_000_000),
    Setting("web3.opcode.tracer.enabled", True,
            "Serve opcode traces of past transactions; otherwise their path is unknown."),
    Setting("web3.opcode.tracer.timeout", "120s",
            "Longest time of an opcode trace once its answer has begun (until then web3.requestTimeout "
            "applies); beyond it the answer breaks off.", unit="duration", low=1, high=3600),
    Setting("web3.throttle.opcodeRequestsPerSecond", 0,
            "Opcode traces per second; with 0 only the limits of contract calls hold.", low=0),
    Setting("web3.throttle.requestsPerSecond", 500, "Contract calls per second.", low=1),
    Setting("web3.throttle.gasPerSecond", 1_000_000_000, "Gas of contract calls per second.",
            unit="units of gas", low=1, high=1_000_000_000),
    Setting("web3.throttle.gasUnit", 1, "Gas of one such unit.", unit="gas", low=1),
    Setting("web3.throttle.gasLimitRefundPercent", 100, "Largest share of a call's gas limit that is given "
            "back if the call does not use it.", unit="percent", low=0, high=100),
    Setting("web3.throttle.request", "[]",
            "Filters of contract calls, as a JSON list; the guide to contract calls explains them."),
)  # fmt: skip

#: Settings of earlier releases that had no effect, or of which there is no need any more.
REMOVED = tuple(
    f"web3.evm.{name}"
    for name in (
        "directTokenCall",
        "dynamicEvmVersion",
        "exchangeRateGasReq",
        "fundingAccount",
        "htsDefaultGasCost",
        "maxAutoRenewDuration",
        "maxBatchSizeBurn",
        "maxBatchSizeMint",
        "maxBatchSizeWipe",
        "maxCustomFeesAllowed",
        "maxFileAttempts",
        "maxMemoUtf8Bytes",
        "maxNftMetadataBytes",
        "maxTokenNameUtf8Bytes",
        "maxTokenSymbolUtf8Bytes",
        "maxTokensPerAccount",
        "minAutoRenewDuration",
        "modularizedServices",
        "modularizedTrafficPercent",
    )
)
