from tests.web3sim.state.states import long_zero
from web3sim.engine.interface import AccountKind
from web3sim.state.proxy_code import proxy_code

BEFORE, AFTER = (
    "6080604052348015600f57600080fd5b506000610167905077618dc65e",
    "600052366000602037600080366018016008845af43d806000803e8160008114605857816000f35b816000fdfea2646970667358"
    "221220d8378feed472ba49a0005514ef7087017f707b45fb9bf56bb81bb93ff19a238b64736f6c634300080b0033",
)


def test_the_code_of_a_token_names_the_token():
    address = long_zero(0x361A3)
    assert proxy_code(AccountKind.TOKEN, address).hex() == BEFORE + address.hex() + AFTER


def test_schedules_and_accounts_have_services_of_their_own():
    address = long_zero(5)
    token = proxy_code(AccountKind.TOKEN, address).hex()
    assert proxy_code(AccountKind.SCHEDULE, address).hex() == token.replace(
        "0167905077618dc65e", "016b9050775c3889ca"
    )
    assert proxy_code(AccountKind.ACCOUNT, address).hex() == token.replace(
        "0167905077618dc65e", "016a905077e4cbd3a7"
    )
