"""People, contracts and tokens for the tests of transfers."""

from mirror.core.values.hapi.messages import ContractID, Key
from mirror.core.values.hapi.result_codes import NAMES
from tests.web3sim.rows import contract
from tests.web3sim.state.states import long_zero

TREASURY, ALICE, BOB, CAROL, DAVE, ERIN, FRANK = 1001, 2001, 2002, 2003, 2004, 2005, 2006
CALLER, CONTRACT, OTHER_CONTRACT = 2009, 5001, 5002
TOKEN, UNIQUE, PAUSED, FREEZABLE, KNOWN = 3001, 3002, 3003, 3004, 3005
KEY = Key(ed25519=bytes(range(32))).SerializeToString()
NEW_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
CODES = {name: number for number, name in NAMES.items()}

TRANSFER_TOKEN = "transferToken(address,address,address,int64)"
TRANSFER_TOKENS = "transferTokens(address,address[],int64[])"
TRANSFER_NFT, TRANSFER_NFTS = (
    "transferNFT(address,address,address,int64)",
    "transferNFTs(address,address[],address[],int64[])",
)
TRANSFER_FROM = "transferFrom(address,address,address,uint256)"
TRANSFER_FROM_NFT = "transferFromNFT(address,address,address,uint256)"
V1 = "cryptoTransfer(TokenTransferListV1[])"
V2 = "cryptoTransfer(TransferList,TokenTransferListV2[])"


def contract_key(number):
    return Key(contractID=ContractID(contractNum=number)).SerializeToString()


def people_and_tokens(build):
    """People, contracts, and tokens that some of them hold."""
    for number in (TREASURY, ALICE, BOB, CAROL, CALLER):
        build.entity(number, key=KEY, balance=1000)
    build.entity(DAVE, max_automatic_token_associations=-1)
    build.entity(ERIN, max_automatic_token_associations=1)
    build.entity(FRANK, key=contract_key(OTHER_CONTRACT), receiver_sig_required=True)
    for number in (CONTRACT, OTHER_CONTRACT):
        contract(build, number, b"", key=contract_key(number), balance=500)
    for number in (TOKEN, UNIQUE, PAUSED, FREEZABLE, KNOWN):
        build.entity(number, type="TOKEN")
    build.token(TOKEN, total_supply=100)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=3)
    build.token(PAUSED, pause_status="PAUSED")
    build.token(FREEZABLE, freeze_key=KEY, freeze_default=True, freeze_status=1)
    build.token(KNOWN, kyc_key=KEY, kyc_status=2)
    for number in (ALICE, OTHER_CONTRACT, CONTRACT, FRANK):
        build.holding(TOKEN, account=number, balance=10)
    build.holding(TOKEN, account=BOB)
    build.holding(PAUSED, account=ERIN, automatic_association=True)
    for number in (FREEZABLE, KNOWN):
        build.holding(number, account=ALICE, balance=5, freeze_status=2, kyc_status=1)
        build.holding(number, account=BOB)
    build.holding(UNIQUE, account=TREASURY, balance=2)
    build.holding(UNIQUE, account=ALICE, balance=1)
    build.holding(UNIQUE, account=BOB)
    build.holding(UNIQUE, account=OTHER_CONTRACT, balance=1)
    build.nft(UNIQUE, 1, account=ALICE, spender=CAROL)
    build.nft(UNIQUE, 2, account=TREASURY)
    build.nft(UNIQUE, 3, account=TREASURY)
    build.nft(UNIQUE, 4, account=OTHER_CONTRACT)
    return build


def zero(*numbers):
    return [long_zero(number) for number in numbers]


def units(token, *adjustments):
    return (long_zero(token), [(long_zero(account), amount) for account, amount in adjustments], [])


def serials(token, *moves):
    return (long_zero(token), [], [(long_zero(a), long_zero(b), serial) for a, b, serial in moves])
