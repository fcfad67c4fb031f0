import pytest

from mirror.core.config import load, removed_settings
from mirror.core.config.setting import InvalidSetting, Setting
from mirror.core.config.settings import REMOVED, SETTINGS


@pytest.mark.parametrize(
    ("variable", "text", "sentence"),
    [
        ("PORT", "http", "PORT='http' is not a whole number."),
        ("PORT", "70000", "PORT='70000' must be 1 to 65535."),
        ("SVC_MIRROR_WEB_WORKERS", "0", "SVC_MIRROR_WEB_WORKERS='0' must be 1 to 64."),
        (
            "SVC_MIRROR_REST_QUERY_MAXTIMESTAMPRANGE",
            "a week",
            "SVC_MIRROR_REST_QUERY_MAXTIMESTAMPRANGE='a week' is not "
            "a duration such as 500ms, 10s, 35m, 2h or 7d.",
        ),
        (
            "SVC_MIRROR_REST_QUERY_BINDTIMESTAMPRANGE",
            "maybe",
            "SVC_MIRROR_REST_QUERY_BINDTIMESTAMPRANGE='maybe' is not true or false.",
        ),
        *[
            (
                "SVC_MIRROR_REST_NETWORK_UNRELEASEDSUPPLYACCOUNTS",
                text,
                f"SVC_MIRROR_REST_NETWORK_UNRELEASEDSUPPLYACCOUNTS='{text}' is not "
                "numbers and ranges of them, such as 2,44-71.",
            )
            for text in ("2,x", "2-", "2-3-4", "0.0.2", ",")
        ],
    ],
)
def test_an_error_names_the_variable_and_the_values_allowed(variable, text, sentence):
    with pytest.raises(InvalidSetting) as raised:
        load({variable: text})
    assert str(raised.value) == sentence


def test_a_mistyped_variable_is_an_error():
    with pytest.raises(InvalidSetting, match="did you mean SVC_MIRROR_WEB_WORKERS"):
        load({"SVC_MIRROR_WEB_WORKRES": "3"})


def test_a_setting_that_is_gone_changes_nothing_and_is_named():
    environment = {"SVC_MIRROR_WEB3_EVM_MAXBATCHSIZEMINT": "many", "SVC_MIRROR_WEB_WORKERS": "3"}
    assert load(environment) == load({"SVC_MIRROR_WEB_WORKERS": "3"})
    assert removed_settings(environment) == (
        "SVC_MIRROR_WEB3_EVM_MAXBATCHSIZEMINT: this setting is gone, nothing reads it any more. "
        "Its variable may be removed."
    )
    assert removed_settings({"SVC_MIRROR_WEB_WORKERS": "3"}) is None


def test_what_replaces_a_setting_that_is_gone_is_named():
    assert removed_settings({"SVC_MIRROR_DB_READPATIENCE": "1s"}) == (
        "SVC_MIRROR_DB_READPATIENCE: this setting is gone, nothing reads it any more. Its variable may be "
        "removed. Requests wait for no block any more: db.readMaxLag limits how old they read."
    )


def test_no_setting_is_gone_and_still_there():
    assert not set(REMOVED) & {setting.name for setting in SETTINGS}


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        ("SVC_MIRROR_WEB_PORT", "The port is set by PORT."),
        ("SVC_MIRROR_DB_URL", "The url is set by DATABASE_URL."),
    ],
)
def test_the_long_name_of_a_shorter_variable_is_an_error(variable, sentence):
    with pytest.raises(InvalidSetting) as raised:
        load({variable: "8080"})
    assert str(raised.value) == sentence


def test_an_empty_variable_leaves_the_default():
    assert load({"PORT": ""})["web.port"] == 8000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("10s", 10), ("35m", 2100), ("2h", 7200), ("7d", 604800), ("90", 90)],
)
def test_durations_are_read_as_seconds(text, seconds):
    assert load({"SVC_MIRROR_REST_QUERY_MAXTIMESTAMPRANGE": text})["rest.query.maxTimestampRange"] == seconds


@pytest.mark.parametrize(("text", "chain"), [("0x128", "0x128"), ("0x12A", "0x12a"), ("", None)])
def test_a_chain_id_in_hex_stays_text(text, chain):
    assert load({"SVC_MIRROR_REST_CHAINID": text})["rest.chainId"] == chain


@pytest.mark.parametrize("text", ["296", "0x", "testnet"])
def test_a_chain_id_is_in_hex(text):
    with pytest.raises(InvalidSetting) as raised:
        load({"SVC_MIRROR_REST_CHAINID": text})
    assert str(raised.value) == f"SVC_MIRROR_REST_CHAINID={text!r} is not a number in hex, such as 0x128."


def test_ranges_of_numbers_are_read_as_they_stand():
    name = "rest.network.unreleasedSupplyAccounts"
    assert load({"SVC_MIRROR_REST_NETWORK_UNRELEASEDSUPPLYACCOUNTS": "2, 44-71"})[name] == ("2", "44-71")


def test_a_secret_is_not_repeated_in_an_error():
    secret = Setting("some.code", 1, "A code.", secret=True)
    with pytest.raises(InvalidSetting) as raised:
        secret.read("hunter2")
    assert "hunter2" not in str(raised.value)


def test_names_and_variables_are_unique():
    assert len({s.name for s in SETTINGS}) == len({s.variable for s in SETTINGS}) == len(SETTINGS)


def test_every_default_is_a_value_the_operator_could_give():
    assert load({each.variable: each.default_text for each in SETTINGS if each.default_text}) == load({})


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("common.databaseStartup.enabled", True),
        ("common.databaseStartup.interval", 2),
        ("common.databaseStartup.timeout", 300),
        ("common.databaseStartup.validationTimeout", 2),
        ("common.databaseStartup.connectTimeout", 2),
        ("importer.downloader.timeout", 5),
        ("importer.parser.record.entity.staking.chunkSize", 500_000),
        ("importer.parser.record.entity.staking.chunkDelay", 10),
        ("rest.query.maxRepeatedQueryParameters", 100),
        ("rest.response.keepAliveTimeout", 620),
        ("rest.users", "[]"),
    ],
)
def test_a_setting_that_others_know_by_its_name_has_their_default(name, default):
    assert load({})[name] == default
