from contracts.models.contract import Contract, ContractState, ContractStateChange
from contracts.models.hook import Hook, HookHistory, HookStorage, HookStorageChange
from contracts.models.result import (
    ContractAction,
    ContractLog,
    ContractResult,
    ContractTransaction,
    ContractTransactionHash,
    EthereumTransaction,
)
