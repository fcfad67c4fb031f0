from contracts.models.action import ContractAction
from contracts.models.contract import Contract, ContractState, ContractStateChange
from contracts.models.ethereum import EthereumTransaction
from contracts.models.hook import Hook, HookHistory, HookStorage, HookStorageChange
from contracts.models.log import ContractLog
from contracts.models.result import ContractResult, ContractTransaction, ContractTransactionHash
