// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// Keeps money for somebody until they are allowed to take it.
contract Locker {
    address public factory;
    address public holder;
    uint256 public label;
    bool public open;

    event Opened(address indexed holder, uint256 label);
    event Paid(address indexed to, uint256 amount);

    error Closed(uint256 label);
    error NotFactory(address caller);

    constructor(address holder_, uint256 label_) payable {
        factory = msg.sender;
        holder = holder_;
        label = label_;
    }

    receive() external payable {}

    function unlock() external {
        if (msg.sender != factory) revert NotFactory(msg.sender);
        open = true;
        emit Opened(holder, label);
    }

    function pay(address payable to, uint256 amount) external {
        if (msg.sender != factory) revert NotFactory(msg.sender);
        if (!open) revert Closed(label);
        (bool paid,) = to.call{value: amount}("");
        require(paid, "Locker: not paid");
        emit Paid(to, amount);
    }
}

/// Makes lockers and speaks to them for those who hold them.
contract Factory {
    Locker[] public lockers;
    mapping(address holder => uint256) public held;

    event Made(address indexed locker, address indexed holder, uint256 label);

    error NoSuchLocker(uint256 label);
    error NotHolder(address caller, uint256 label);

    /// By CREATE: the address follows from the factory's nonce.
    function make() external payable returns (address) {
        return _keep(new Locker{value: msg.value}(msg.sender, lockers.length));
    }

    /// By CREATE2: the address is known before.
    function makeAt(bytes32 salt) external payable returns (address) {
        return _keep(new Locker{salt: salt, value: msg.value}(msg.sender, lockers.length));
    }

    function makeMany(uint256 number) external {
        for (uint256 made = 0; made < number; made++) _keep(new Locker(msg.sender, lockers.length));
    }

    function addressOf(bytes32 salt, address holder, uint256 label) external view returns (address) {
        bytes memory code = abi.encodePacked(type(Locker).creationCode, abi.encode(holder, label));
        bytes32 hash = keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, keccak256(code)));
        return address(uint160(uint256(hash)));
    }

    function count() external view returns (uint256) {
        return lockers.length;
    }

    function unlock(uint256 label) external {
        _of(label).unlock();
    }

    function pay(uint256 label, address payable to, uint256 amount) external {
        _of(label).pay(to, amount);
    }

    /// Tries to pay, and tells whether it went well.
    function tryToPay(uint256 label, address payable to, uint256 amount) external returns (bool paid, bytes memory reason) {
        try _of(label).pay(to, amount) {
            paid = true;
        } catch (bytes memory data) {
            reason = data;
        }
    }

    function _of(uint256 label) private view returns (Locker locker) {
        if (label >= lockers.length) revert NoSuchLocker(label);
        locker = lockers[label];
        if (locker.holder() != msg.sender) revert NotHolder(msg.sender, label);
    }

    function _keep(Locker locker) private returns (address) {
        lockers.push(locker);
        held[msg.sender]++;
        emit Made(address(locker), msg.sender, lockers.length - 1);
        return address(locker);
    }
}
