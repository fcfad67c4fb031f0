// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface Receiver {
    function onERC721Received(address operator, address from, uint256 id, bytes calldata data)
        external
        returns (bytes4);
}

/// ERC-721 collectibles, numbered from 1; anybody can mint one.
contract Collectible {
    string public name;
    string public symbol;
    string public base;
    uint256 public totalSupply;
    mapping(address holder => uint256) public balanceOf;
    mapping(uint256 id => address) public getApproved;
    mapping(address holder => mapping(address operator => bool)) public isApprovedForAll;
    mapping(uint256 id => address) private _owners;

    event Transfer(address indexed from, address indexed to, uint256 indexed id);
    event Approval(address indexed owner, address indexed approved, uint256 indexed id);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    error Unknown(uint256 id);
    error NotOwner(address caller, uint256 id);
    error NotAllowed(address caller, uint256 id);
    error Refused(address receiver);

    constructor(string memory name_, string memory symbol_, string memory base_) {
        name = name_;
        symbol = symbol_;
        base = base_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd || id == 0x5b5e139f;
    }

    function ownerOf(uint256 id) public view returns (address owner) {
        owner = _owners[id];
        if (owner == address(0)) revert Unknown(id);
    }

    function tokenURI(uint256 id) external view returns (string memory) {
        ownerOf(id);
        return string.concat(base, _decimal(id), ".json");
    }

    function mint(address to) external returns (uint256 id) {
        if (to == address(0)) revert Refused(to);
        id = ++totalSupply;
        balanceOf[to] += 1;
        _owners[id] = to;
        emit Transfer(address(0), to, id);
    }

    function approve(address approved, uint256 id) external {
        address owner = ownerOf(id);
        if (msg.sender != owner && !isApprovedForAll[owner][msg.sender]) revert NotAllowed(msg.sender, id);
        getApproved[id] = approved;
        emit Approval(owner, approved, id);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function transferFrom(address from, address to, uint256 id) public {
        address owner = ownerOf(id);
        if (owner != from) revert NotOwner(from, id);
        if (to == address(0)) revert Refused(to);
        bool allowed = msg.sender == owner || msg.sender == getApproved[id] || isApprovedForAll[owner][msg.sender];
        if (!allowed) revert NotAllowed(msg.sender, id);
        delete getApproved[id];
        balanceOf[from] -= 1;
        balanceOf[to] += 1;
        _owners[id] = to;
        emit Transfer(from, to, id);
    }

    function safeTransferFrom(address from, address to, uint256 id) external {
        safeTransferFrom(from, to, id, "");
    }

    function safeTransferFrom(address from, address to, uint256 id, bytes memory data) public {
        transferFrom(from, to, id);
        if (to.code.length == 0) return;
        try Receiver(to).onERC721Received(msg.sender, from, id, data) returns (bytes4 answer) {
            if (answer != Receiver.onERC721Received.selector) revert Refused(to);
        } catch {
            revert Refused(to);
        }
    }

    function _decimal(uint256 number) private pure returns (string memory) {
        if (number == 0) return "0";
        uint256 length;
        for (uint256 rest = number; rest != 0; rest /= 10) length++;
        bytes memory digits = new bytes(length);
        for (; number != 0; number /= 10) digits[--length] = bytes1(uint8(48 + number % 10));
        return string(digits);
    }
}
