"""The page about system contracts lists the functions that there are."""

import json
import re
from pathlib import Path

from django.conf import settings

from tests.web3sim.rows import asked, network
from web3sim.calls.call import answer
from web3sim.system_contracts.contracts import SERVICES
from web3sim.system_contracts.function_signatures import selector_of
from web3sim.system_contracts.table import as_markdown

PAGE = Path(settings.BASE_DIR, "mirror", "docs", "system-contracts.md").read_text()


def test_the_page_lists_the_functions_as_they_are():
    assert PAGE.endswith(as_markdown()), (
        "print the tables anew, from the first one to the end: python -m web3sim.system_contracts.table"
    )


def test_each_function_is_listed_once_under_the_selector_that_its_signature_has():
    listed = re.findall(r"^\| `([^`]*\))` \| `0x([0-9a-f]{8})` \|", as_markdown(), re.M)
    assert all(selector_of(signature).hex() == selector for signature, selector in listed)
    there = [
        selector.hex()
        for service in SERVICES.values()
        for table in (service.functions, service.proxy_functions)
        for selector in table
    ]
    redirects = [service.redirect.hex() for service in SERVICES.values() if service.redirect is not None]
    assert sorted(selector for _, selector in listed) == sorted(there + redirects)


def test_documented_request_converts_hbar(build):
    shown = re.search(r"-d '(\{.*?\})'", PAGE, re.S)
    assert shown
    request = json.loads(shown[1])
    network(build)
    to, data = (bytes.fromhex(request[member].removeprefix("0x")) for member in ("to", "data"))
    assert int.from_bytes(answer(asked(to=to, data=data)).result) == 12 * 10**8
