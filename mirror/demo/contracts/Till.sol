// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// A till that pays its caller what others allowed it to spend: tokens and hbars, by the token service.
contract Till {
    struct Amount {
        address account;
        int64 amount;
        bool approved;
    }

    struct Amounts {
        Amount[] transfers;
    }

    struct Serial {
        address sender;
        address receiver;
        int64 serial;
        bool approved;
    }

    struct Token {
        address token;
        Amount[] transfers;
        Serial[] serials;
    }

    address private constant SERVICE = address(0x167);
    bytes4 private constant TRANSFER = 0x0e71804f;
    int256 private constant SUCCESS = 22;

    uint256 public payments;

    function takeUnits(address token, address owner, uint256 amount) external {
        _ask(
            abi.encodeWithSignature(
                "transferFrom(address,address,address,uint256)", token, owner, msg.sender, amount
            )
        );
    }

    function takeHbars(address owner, int64 amount) external {
        Amounts memory hbars = Amounts(new Amount[](2));
        hbars.transfers[0] = Amount(owner, -amount, true);
        hbars.transfers[1] = Amount(msg.sender, amount, false);
        _ask(abi.encodeWithSelector(TRANSFER, hbars, new Token[](0)));
    }

    function _ask(bytes memory call) private {
        (bool answered, bytes memory answer) = SERVICE.call(call);
        require(answered && abi.decode(answer, (int256)) == SUCCESS, "Till: not allowed");
        payments++;
    }
}
