// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// Fails in every way a contract can, on purpose.
contract Faults {
    error Custom(uint256 code, string text);

    uint256[] private _list;
    uint256 public kept;

    function reason(string calldata text) external pure {
        revert(text);
    }

    function custom(uint256 code, string calldata text) external pure {
        revert Custom(code, text);
    }

    function silent() external pure {
        revert();
    }

    function failAssertion() external pure {
        assert(false);
    }

    function overflow(uint256 number) external pure returns (uint256) {
        return number + type(uint256).max;
    }

    function divide(uint256 number, uint256 by) external pure returns (uint256) {
        return number / by;
    }

    function element(uint256 index) external view returns (uint256) {
        return _list[index];
    }

    function invalid() external pure {
        assembly {
            invalid()
        }
    }

    /// Uses gas until there is none.
    function exhaust() external {
        for (uint256 turn = 1;; turn++) kept = turn;
    }

    /// Writes, and reverts what was written in an inner call.
    function undone(uint256 number) external returns (bool) {
        kept = number;
        try this.writeAndFail(number + 1) {
            return true;
        } catch {
            return false;
        }
    }

    function writeAndFail(uint256 number) external {
        kept = number;
        require(number == 0, "Faults: not meant to stay");
    }
}
