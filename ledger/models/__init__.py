from ledger.models.allowance import CryptoAllowance, CryptoAllowanceHistory
from ledger.models.balance import AccountBalance, AccountBalanceFile, BalanceDifference, ReconciliationJob
from ledger.models.block import RecordFile, SidecarFile
from ledger.models.custom_fee import CustomFee, CustomFeeHistory
from ledger.models.entity import Entity, EntityHistory, EntityStake, EntityStakeHistory, EntityTransaction
from ledger.models.miscellaneous import FileData, LiveHash, NetworkFreeze, Prng
from ledger.models.schedule import Schedule
from ledger.models.topic import Topic, TopicHistory, TopicMessage, TopicMessageLookup
from ledger.models.transaction import Transaction, TransactionHash, TransactionSignature
from ledger.models.transfer import CryptoTransfer, NonFeeTransfer, StakingRewardTransfer
