// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Loops whose speed is measured: each does one kind of work a number of times.
contract Loops {
    function hashes(uint256 rounds) external pure returns (bytes32 last) {
        for (uint256 i = 0; i < rounds; i++) {
            last = keccak256(abi.encodePacked(last, i));
        }
    }

    function hashesAssembly(uint256 rounds) external pure returns (bytes32 last) {
        assembly {
            for { let i := 0 } lt(i, rounds) { i := add(i, 1) } {
                mstore(0, last)
                mstore(32, i)
                last := keccak256(0, 64)
            }
        }
    }

    function arithmetic(uint256 rounds) external pure returns (uint256 sum) {
        for (uint256 i = 1; i <= rounds; i++) {
            sum += (i * 7 + 3) / 2;
            sum ^= i << 3;
            if (sum % 5 == 0) {
                sum -= i;
            }
        }
    }

    function memoryWords(uint256 words) external pure returns (uint256 sum) {
        uint256[] memory list = new uint256[](words);
        for (uint256 i = 0; i < words; i++) {
            list[i] = i * i;
        }
        for (uint256 i = 0; i < words; i++) {
            sum += list[i];
        }
    }

    function fibonacci(uint256 rounds) external pure returns (uint256 a) {
        uint256 b = 1;
        for (uint256 i = 0; i < rounds; i++) {
            unchecked {
                (a, b) = (b, a + b);
            }
        }
    }
}
