// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface ERC20 {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
    function balanceOf(address holder) external view returns (uint256);
}

/// Changes money for coins and back; what it holds of both sets the price (constant product, 0.3 % fee).
contract Exchange {
    ERC20 public coin;
    uint256 public shares;
    mapping(address provider => uint256) public sharesOf;

    event Bought(address indexed by, uint256 paid, uint256 coins);
    event Sold(address indexed by, uint256 coins, uint256 received);
    event Provided(address indexed by, uint256 money, uint256 coins);
    event Withdrawn(address indexed by, uint256 money, uint256 coins);
    event Received(address indexed from, uint256 amount);

    error TooLittle(uint256 offered, uint256 wanted);
    error Entered();
    error NotPaid();

    bool private transient _entered;

    modifier once() {
        if (_entered) revert Entered();
        _entered = true;
        _;
        _entered = false;
    }

    constructor(ERC20 coin_) payable {
        coin = coin_;
    }

    receive() external payable {
        emit Received(msg.sender, msg.value);
    }

    function provide(uint256 coins) external payable once {
        uint256 before = address(this).balance - msg.value;
        uint256 made = shares == 0 || before == 0 ? msg.value : msg.value * shares / before;
        shares += made;
        sharesOf[msg.sender] += made;
        coin.transferFrom(msg.sender, address(this), coins);
        emit Provided(msg.sender, msg.value, coins);
    }

    function withdraw(uint256 given) external once {
        sharesOf[msg.sender] -= given;
        uint256 money = address(this).balance * given / shares;
        uint256 coins = coin.balanceOf(address(this)) * given / shares;
        shares -= given;
        coin.transfer(msg.sender, coins);
        _pay(msg.sender, money);
        emit Withdrawn(msg.sender, money, coins);
    }

    function buy(uint256 wanted) external payable once returns (uint256 coins) {
        coins = quote(msg.value, address(this).balance - msg.value, coin.balanceOf(address(this)));
        if (coins < wanted) revert TooLittle(coins, wanted);
        coin.transfer(msg.sender, coins);
        emit Bought(msg.sender, msg.value, coins);
    }

    function sell(uint256 coins, uint256 wanted) external once returns (uint256 money) {
        money = quote(coins, coin.balanceOf(address(this)), address(this).balance);
        if (money < wanted) revert TooLittle(money, wanted);
        coin.transferFrom(msg.sender, address(this), coins);
        _pay(msg.sender, money);
        emit Sold(msg.sender, coins, money);
    }

    /// What an amount of one side gets of the other.
    function quote(uint256 amount, uint256 from, uint256 to) public pure returns (uint256) {
        uint256 net = amount * 997;
        return net * to / (from * 1000 + net);
    }

    function _pay(address to, uint256 money) private {
        (bool paid,) = to.call{value: money}("");
        if (!paid) revert NotPaid();
    }
}
