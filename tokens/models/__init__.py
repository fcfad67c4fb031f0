from tokens.models.airdrop import TokenAirdrop, TokenAirdropHistory
from tokens.models.allowance import NftAllowance, NftAllowanceHistory, TokenAllowance, TokenAllowanceHistory
from tokens.models.nft import Nft, NftHistory
from tokens.models.relationship import TokenAccount, TokenAccountHistory, TokenBalance
from tokens.models.token import Token, TokenHistory
from tokens.models.transfer import AssessedCustomFee, TokenTransfer
