"""`manage.py settings`, as an operator runs it."""

from mirror.core.config.settings import SETTINGS
from mirror.core.config.table import as_markdown
from tests.node import ROOT, manage


def test_settings_page_is_what_the_command_prints():
    page = (ROOT / "mirror" / "docs" / "settings.md").read_text()
    assert page == as_markdown(), (
        "print it anew: .venv/bin/python manage.py settings --format markdown > mirror/docs/settings.md"
    )


def test_every_setting_is_printed_with_changed_values_that_are_no_secrets_and_those_that_are_gone_are_named():
    ran = manage(
        "settings",
        SVC_MIRROR_WEB_WORKERS="3",
        SVC_MIRROR_WEB_SECRETKEY="hunter2",
        SVC_MIRROR_WEB3_EVM_FUNDINGACCOUNT="0x62",
        SVC_MIRROR_WEB3_EVM_DIRECTTOKENCALL="true",
    )
    assert ran.returncode == 0, ran.stderr
    assert all(f"{setting.property_name}\n" in ran.stdout for setting in SETTINGS)
    assert "    SVC_MIRROR_WEB_WORKERS=2\n    now: 3\n" in ran.stdout
    assert "now: (secret)" in ran.stdout
    assert "hunter2" not in ran.stdout
    assert ran.stderr == (
        "SVC_MIRROR_WEB3_EVM_DIRECTTOKENCALL, SVC_MIRROR_WEB3_EVM_FUNDINGACCOUNT: these settings are gone, "
        "nothing reads them any more. Their variables may be removed.\n"
    )


def test_unusable_value_ends_a_command_with_one_sentence():
    ran = manage("check", PORT="http")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "PORT='http' is not a whole number.\n")
