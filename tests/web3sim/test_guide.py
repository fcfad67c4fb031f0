"""The guide to contract calls names only settings, actions and errors that there are."""

import json
import re
from pathlib import Path

from django.conf import settings

from mirror.core.config.settings import SETTINGS
from web3sim.api import filters, throttle
from web3sim.models import FIELDS, ContractCallFilter

GUIDE = Path(settings.BASE_DIR, "mirror", "docs", "calls.md").read_text()


def test_every_setting_named_exists():
    named = set(re.findall(r"`((?:web3|web)\.[A-Za-z0-9.]+)`", GUIDE))
    assert len(named) > 10
    assert named <= {setting.name for setting in SETTINGS}


def test_what_is_said_of_refusals_is_what_clients_get():
    for text in (throttle.REQUESTS_EXCEEDED, throttle.GAS_EXCEEDED, filters.REJECTED):
        assert f"`{text}`" in GUIDE


def test_the_filters_shown_can_be_used(settings_of):
    shown = re.search(r"SVC_MIRROR_WEB3_THROTTLE_REQUEST='(.*?)'", GUIDE, re.S)
    assert shown
    assert json.loads(shown[1])
    settings_of({"web3.throttle.request": shown[1]})
    assert [each.action for each in filters.configured()] == ["REJECT", "THROTTLE"]


def test_every_action_and_field_is_explained():
    for name in (*ContractCallFilter.Action.values, *FIELDS):
        assert f"`{name}`" in GUIDE
