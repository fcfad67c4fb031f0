// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// The code of a hook that owners set limits for: slot 0 is the most a transfer may move, slot 1 counts, and
/// a mapping in slot 2 names who is always allowed.
contract AllowanceHook {
    uint256 public limit;
    uint256 public calls;
    mapping(address account => bool) public allowed;

    function permits(address account, uint256 amount) external returns (bool) {
        calls++;
        return amount <= limit || allowed[account];
    }
}
