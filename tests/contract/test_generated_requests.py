"""Requests that schemathesis makes from the API's description, to it and beside it: none fails.

The `api` client holds every answer against the description.
"""

from functools import cache
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from mirror.core.rest.schema.description import document
from mirror.urls import VIEWS


@cache
def _requests() -> Any:
    return schemathesis.openapi.from_dict(document())


def _modes(operation: Any) -> list[GenerationMode]:
    """Right requests, and wrong ones where there is a parameter to be wrong."""
    takes_any = bool(operation.definition.raw.get("parameters"))
    return [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if takes_any else [])]


@pytest.mark.parametrize("path", [path for path, view in VIEWS.items() if "get" in view.actions])
def test_no_generated_request_fails(api, all_endpoints, path):
    operation = _requests()[f"/api/v1/{path}"]["GET"]

    @given(case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in _modes(operation))))
    @settings(
        max_examples=5,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        query = urlencode(case.query or {}, doseq=True)
        answer = api.request(case.method, f"{case.formatted_path}?{query}")
        assert answer.status < 500, answer

    ask()
