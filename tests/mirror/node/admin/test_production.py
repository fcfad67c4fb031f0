"""A node for strangers refuses what is not safe, in words; without that it passes Django's own checks."""

import secrets

import pytest

from mirror.node.admin import production
from tests.node import Node, manage

GOOD = {
    "profile": "production",
    "web.allowedHosts": ("mirror.example.org",),
    "web.adminOrigins": ("https://mirror.example.org",),
    "web.trustedProxies": ("127.0.0.1",),
    "clock.now": None,
}
VARIABLES = {
    "SVC_MIRROR_PROFILE": "production",
    "SVC_MIRROR_WEB_ALLOWEDHOSTS": "mirror.example.org",
    "SVC_MIRROR_WEB_ADMINORIGINS": "https://mirror.example.org",
    "SVC_MIRROR_WEB_TRUSTEDPROXIES": "127.0.0.1",
}


@pytest.fixture(autouse=True)
def _good(settings_of, settings, tmp_path):
    settings_of(GOOD)
    settings.DATA_DIR = tmp_path


def test_node_whose_settings_are_safe_may_start():
    production.check()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"web.allowedHosts": ("*",)},
            "SVC_MIRROR_WEB_ALLOWEDHOSTS lets the admin answer to any name: list the names by which it is "
            "reached, such as mirror.example.org.",
        ),
        (
            {"web.adminOrigins": ("http://mirror.example.org",)},
            "SVC_MIRROR_WEB_ADMINORIGINS names http://mirror.example.org: passwords would travel in plain "
            "text, so name an address that begins with https://.",
        ),
        (
            {"web.trustedProxies": (), "web.adminOrigins": ()},
            "SVC_MIRROR_WEB_TRUSTEDPROXIES is empty: HTTPS needs a proxy in front, and all clients would "
            "have its address, for limits, for failed sign-ins and for /metrics. List the addresses of your "
            "proxies.",
        ),
        (
            {"web.trustedProxies": ("10.0.0.0/8", "0.0.0.0/0")},
            "SVC_MIRROR_WEB_TRUSTEDPROXIES trusts all addresses (0.0.0.0/0): list those of your proxies.",
        ),
        ({"web.secretKey": "swordfish" * 9}, None),
        (
            {"web.secretKey": "swordfish"},
            "SVC_MIRROR_WEB_SECRETKEY is easily guessed: give it 50 random characters, or leave it out, and "
            "the node makes one.",
        ),
        ({"clock.now": 1.0}, "SVC_MIRROR_CLOCK_NOW stops the clock, which is for tests: leave it out."),
    ],
)
def test_what_is_not_safe_is_named_with_its_cure(settings_of, changes, problem):
    settings_of(changes)

    assert list(production.problems()) == ([] if problem is None else [problem])
    assert [each.msg for each in production.deploy_check(None)] == list(production.problems())


def test_secret_that_other_users_may_read_is_not_safe(tmp_path):
    key = tmp_path / "session-key"
    key.write_text("secret")
    key.chmod(0o600)
    assert list(production.problems()) == []

    key.chmod(0o644)
    assert list(production.problems()) == [f"Other users of this machine may read {key}: `chmod 600 {key}`."]


def test_with_another_profile_nothing_is_refused(settings_of):
    settings_of({"profile": "local", "web.allowedHosts": ("*",)})

    production.check()


def test_unsafe_node_does_not_start_and_lists_all_reasons(data_folder):
    variables = {**VARIABLES, "SVC_MIRROR_WEB_ALLOWEDHOSTS": "*", "SVC_MIRROR_WEB_TRUSTEDPROXIES": "::/0"}
    done = manage("up", PORT=str(Node(data_folder).port), SVC_MIRROR_DATA=str(data_folder), **variables)

    assert done.returncode == 1
    first, *problems = done.stderr.splitlines()
    assert first == "The profile production does not allow this:"
    assert [line.partition(" ")[2].partition(" ")[0] for line in problems] == [
        "SVC_MIRROR_WEB_ALLOWEDHOSTS",
        "SVC_MIRROR_WEB_TRUSTEDPROXIES",
    ]


def test_in_production_all_checks_of_a_deployment_pass(data_folder):
    done = manage(
        *("check", "--deploy", "--fail-level", "WARNING"),
        **{
            **VARIABLES,
            "SVC_MIRROR_DATA": str(data_folder),
            "SVC_MIRROR_WEB_SECRETKEY": secrets.token_urlsafe(50),
        },
    )

    assert (done.returncode, done.stderr) == (0, "")
    # axes.W002 and security.W001 to W003, each with its reason in mirror/settings.py.
    assert done.stdout == "System check identified no issues (4 silenced).\n"
