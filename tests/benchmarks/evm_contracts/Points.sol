// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A token as most are: what is measured are its calls.
contract Points {
    string public constant name = "Points";
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error NotEnough(uint256 held, uint256 wanted);

    function mint(uint256 value) external {
        totalSupply += value;
        balanceOf[msg.sender] += value;
        emit Transfer(address(0), msg.sender, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    /// Moves one unit to each of so many accounts.
    function spread(uint256 accounts) external {
        for (uint256 i = 1; i <= accounts; i++) {
            move(msg.sender, address(uint160(i + 0x10000)), 1);
        }
    }

    function move(address from, address to, uint256 value) internal {
        uint256 held = balanceOf[from];
        if (held < value) {
            revert NotEnough(held, value);
        }
        balanceOf[from] = held - value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
