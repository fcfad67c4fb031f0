// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// A number that anybody can raise, and its owner alone sets to zero.
contract Counter {
    uint256 public count;
    address public owner;
    uint64 public lastChanged;
    uint32 public resets;
    mapping(address caller => uint256) public raisedBy;

    event Raised(address indexed by, uint256 amount, uint256 count);
    event Reset(address indexed by, uint256 count);

    constructor(uint256 start) payable {
        count = start;
        owner = msg.sender;
        lastChanged = uint64(block.timestamp);
    }

    function increment() external returns (uint256) {
        return _raise(1);
    }

    function add(uint256 amount) external returns (uint256) {
        require(amount > 0, "Counter: nothing to add");
        return _raise(amount);
    }

    function reset() external {
        require(msg.sender == owner, "Counter: only the owner can reset it");
        emit Reset(msg.sender, count);
        count = 0;
        resets++;
        lastChanged = uint64(block.timestamp);
    }

    /// Where and when a call runs.
    function place()
        external
        view
        returns (uint256 number, uint256 time, uint256 chain, address coinbase, address origin)
    {
        return (block.number, block.timestamp, block.chainid, block.coinbase, tx.origin);
    }

    function _raise(uint256 amount) private returns (uint256 raised) {
        raised = count + amount;
        count = raised;
        raisedBy[msg.sender] += amount;
        lastChanged = uint64(block.timestamp);
        emit Raised(msg.sender, amount, raised);
    }
}
