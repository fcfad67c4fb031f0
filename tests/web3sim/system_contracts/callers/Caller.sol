// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// Makes the calls that its call data lists, whatever comes of each, and answers what came of them.
///
/// The call data is a byte, 1 to revert in the end, then of each call: the kind (0 call, 1 static, 2 delegate), the
/// address (20 bytes), gas (8), value (16), the length of its data (4), its data. The answer is of each call: 1 or
/// 0 for success, the length of its output (4), its output. Callers that call each other nest.
contract Caller {
    fallback() external payable {
        assembly {
            let free := 0
            for { let at := 1 } lt(at, calldatasize()) {} {
                let kind := byte(0, calldataload(at))
                let to := shr(96, calldataload(add(at, 1)))
                let most := shr(192, calldataload(add(at, 21)))
                let amount := shr(128, calldataload(add(at, 29)))
                let length := shr(224, calldataload(add(at, 45)))
                calldatacopy(free, add(at, 49), length)
                let done
                switch kind
                case 0 { done := call(most, to, amount, free, length, 0, 0) }
                case 1 { done := staticcall(most, to, free, length, 0, 0) }
                default { done := delegatecall(most, to, free, length, 0, 0) }
                mstore8(free, done)
                mstore(add(free, 1), shl(224, returndatasize()))
                returndatacopy(add(free, 5), 0, returndatasize())
                free := add(free, add(5, returndatasize()))
                at := add(at, add(49, length))
            }
            if byte(0, calldataload(0)) { revert(0, free) }
            return(0, free)
        }
    }
}
