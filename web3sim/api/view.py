"""The view that both endpoints are: their headers, and the JSON of their errors."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypedDict

from django.http import HttpResponse

from mirror.core.rest.answers.errors import (
    Failure,
    Unavailable,
    UnsupportedMediaType,
    WrongMethod,
    reason_phrase,
    spring_texts,
)
from mirror.core.rest.answers.response import PlainJsonRenderer, render
from mirror.core.rest.views import SpringReadView
from web3sim.calls.messages import CallAnswer, Problem


# JSON
class ContractCallProblemJson(TypedDict):
    message: str
    detail: str
    data: str


class ContractCallStatusJson(TypedDict):
    messages: list[ContractCallProblemJson]


class ContractCallErrorJson(TypedDict):
    """Why a call failed: the name of a response code or of the status, the reason, the revert data."""

    _status: ContractCallStatusJson


def _envelope(problems: Iterable[Problem]) -> Mapping[str, Any]:
    return {"_status": {"messages": [problem._asdict() for problem in problems]}}


def _problems(failure: Failure) -> Iterable[Problem]:
    if isinstance(failure, Unsuccessful):
        return failure.answered
    if isinstance(failure, UnsupportedMediaType) and "charset" not in failure.content_type.lower():
        failure = UnsupportedMediaType(f"{failure.content_type};charset=UTF-8")
    if isinstance(failure, Unavailable):
        texts = [problem.detail or "" for problem in failure.problems]
    else:
        hidden = failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        texts = [""] * len(failure.problems) if hidden else spring_texts(failure)
    return [Problem(reason_phrase(failure.status), text) for text in texts]


# FAILURES
class Unsuccessful(Failure):
    """A simulation that came to another status than 200."""

    def __init__(self, answer: CallAnswer) -> None:
        super().__init__()
        self.status = answer.status
        if self.status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.retry_after = Unavailable.retry_after
        self.answered = answer.problems or (Problem(reason_phrase(answer.status)),)


# VIEW
class SimulationView(SpringReadView):
    """An endpoint that simulates."""

    renderer = PlainJsonRenderer()
    error = ContractCallErrorJson

    def failed(self, failure: Failure) -> Any:
        response = self.json(_envelope(_problems(failure)), failure.status)
        if isinstance(failure, WrongMethod):
            response.headers["allow"] = "GET, HEAD" if "get" in self.actions else "POST"
        if failure.retry_after:
            response.headers["retry-after"] = str(failure.retry_after)
        return response

    def json(self, data: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
        response = HttpResponse(
            render(data), self.renderer.media_type, status, headers=self.default_response_headers
        )
        response.weak_etag = self.weak_etag  # type: ignore[attr-defined]
        return response

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {"is-modularized": "true"}
