// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface Movable {
    function transfer(address to, uint256 value) external returns (bool);
    function balanceOf(address holder) external view returns (uint256);
}

/// Calls a token, as exchanges and wallets made of code do.
contract Courier {
    function deliver(address token, uint256 accounts) external returns (uint256 held) {
        for (uint256 i = 1; i <= accounts; i++) {
            address to = address(uint160(i + 0x10000));
            require(Movable(token).transfer(to, 1), "not delivered");
            held += Movable(token).balanceOf(to);
        }
    }
}
