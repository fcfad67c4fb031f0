"""Names of the functions that contracts have in common, by the selector their calls begin with."""

from web3sim.engine.interface import CallRequest
from web3sim.system_contracts.abi import SELECTOR_LENGTH
from web3sim.system_contracts.signatures import selector_of

# Separated by spaces: those of ERC-20 and its usual extensions; of ERC-721 and ERC-1155; of wrapped hbar,
# owners, proxies and exchanges.
_SIGNATURES = """
    allowance(address,address) approve(address,uint256) balanceOf(address) burn(uint256) decimals()
    decreaseAllowance(address,uint256) increaseAllowance(address,uint256) mint(address,uint256) name()
    permit(address,address,uint256,uint256,uint8,bytes32,bytes32) symbol() totalSupply()
    transfer(address,uint256) transferFrom(address,address,uint256)
    balanceOf(address,uint256) getApproved(uint256) isApprovedForAll(address,address) mint(address)
    ownerOf(uint256) safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)
    safeMint(address,uint256) safeTransferFrom(address,address,uint256)
    safeTransferFrom(address,address,uint256,bytes)
    safeTransferFrom(address,address,uint256,uint256,bytes) setApprovalForAll(address,bool)
    tokenURI(uint256)
    acceptOwnership() claim() deposit() execute(address,uint256,bytes) grantRole(bytes32,address)
    initialize() multicall(bytes[]) owner() pause() renounceOwnership() supportsInterface(bytes4)
    swap(uint256,uint256,address,bytes) swapExactETHForTokens(uint256,address[],address,uint256)
    swapExactTokensForETH(uint256,uint256,address[],address,uint256)
    swapExactTokensForTokens(uint256,uint256,address[],address,uint256) transferOwnership(address)
    unpause() upgradeTo(address) upgradeToAndCall(address,bytes) withdraw() withdraw(uint256)
"""
_COMMON = {selector_of(signature): signature for signature in _SIGNATURES.split()}


def function_name(request: CallRequest) -> str:
    """The signature a call begins with, its selector if that is not a common one, or what else it is."""
    if request.to is None:
        return "(creation)"
    selector = request.data[:SELECTOR_LENGTH]
    if len(selector) < SELECTOR_LENGTH:
        return "(no function)"
    return _COMMON.get(selector, f"0x{selector.hex()}")
