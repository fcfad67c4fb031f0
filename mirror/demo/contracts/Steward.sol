// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IToken {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
}

/// Keeps tokens for others, issues one of its own, and uses each service of the network for it.
contract Steward {
    struct KeyValue {
        bool inheritsAccountKey;
        address contractId;
        bytes ed25519;
        bytes ecdsa;
        address delegatableContractId;
    }

    struct TokenKey {
        uint256 kinds;
        KeyValue value;
    }

    struct Expiry {
        int64 second;
        address autoRenewAccount;
        int64 autoRenewPeriod;
    }

    struct Token {
        string name;
        string symbol;
        address treasury;
        string memo;
        bool finite;
        int64 maxSupply;
        bool freezeDefault;
        TokenKey[] keys;
        Expiry expiry;
    }

    struct Amount {
        address account;
        int64 amount;
        bool approved;
    }

    struct Serial {
        address sender;
        address receiver;
        int64 serial;
        bool approved;
    }

    struct Transfers {
        address token;
        Amount[] amounts;
        Serial[] serials;
    }

    address private constant TOKENS = address(0x167);
    address private constant RATE = address(0x168);
    address private constant RANDOM = address(0x169);
    address private constant SCHEDULES = address(0x16b);
    int64 private constant SUCCESS = 22;
    int64 private constant QUARTER = 7776000;
    uint256 private constant REMINDING_GAS = 100000;

    event Issued(address token);
    event Reminded(address schedule);

    uint256 public tinybars;
    uint256 public draws;
    uint256 public reminders;
    address public issued;

    function join(address token) external {
        _change(TOKENS, 0, abi.encodeWithSignature("associateToken(address,address)", address(this), token));
    }

    function deposit(address token, int64 amount) external {
        bytes memory call = abi.encodeWithSignature(
            "transferToken(address,address,address,int64)", token, msg.sender, address(this), amount
        );
        _change(TOKENS, 0, call);
    }

    function withdraw(address token, uint256 amount) external {
        require(IToken(token).balanceOf(address(this)) >= amount, "Steward: too little is kept");
        require(IToken(token).transfer(msg.sender, amount), "Steward: not paid");
    }

    function issue(string calldata name, string calldata symbol, int64 supply) external payable {
        Token memory token;
        token.name = name;
        token.symbol = symbol;
        token.treasury = address(this);
        token.memo = "Issued by a contract";
        token.expiry = Expiry(0, address(this), QUARTER);
        bytes memory call = abi.encodeWithSelector(0x0fb65bf3, token, supply, int32(2));
        (, address created) = abi.decode(_change(TOKENS, msg.value, call), (int64, address));
        issued = created;
        emit Issued(created);
    }

    function drop(address token, address receiver, int64 amount) external {
        Transfers[] memory transfers = new Transfers[](1);
        transfers[0].token = token;
        transfers[0].amounts = new Amount[](2);
        transfers[0].amounts[0] = Amount(address(this), -amount, false);
        transfers[0].amounts[1] = Amount(receiver, amount, false);
        _change(TOKENS, 0, abi.encodeWithSelector(0x2f348119, transfers));
    }

    /// Schedules a call of `quote` that a payer has to sign.
    function remind(address payer, uint256 second) external {
        bytes memory call = abi.encodeWithSignature(
            "executeCallOnPayerSignature(address,address,uint256,uint256,uint64,bytes)",
            address(this), payer, second, REMINDING_GAS, uint64(0), abi.encodeCall(this.quote, (1))
        );
        (, address schedule) = abi.decode(_change(SCHEDULES, 0, call), (int64, address));
        reminders++;
        emit Reminded(schedule);
    }

    function quote(uint256 tinycents) external {
        tinybars = abi.decode(_ask(RATE, abi.encodeWithSignature("tinycentsToTinybars(uint256)", tinycents)), (uint256));
    }

    /// The seed differs from node to node of a mirror, so it is only looked at.
    function draw() external {
        bytes32 seed = abi.decode(_ask(RANDOM, abi.encodeWithSignature("getPseudorandomSeed()")), (bytes32));
        require(seed != 0, "Steward: no seed");
        draws++;
    }

    function _change(address service, uint256 value, bytes memory call) private returns (bytes memory) {
        (bool answered, bytes memory answer) = service.call{value: value}(call);
        require(answered && abi.decode(answer, (int64)) == SUCCESS, "Steward: refused");
        return answer;
    }

    function _ask(address service, bytes memory call) private returns (bytes memory) {
        (bool answered, bytes memory answer) = service.call(call);
        require(answered, "Steward: no answer");
        return answer;
    }
}
