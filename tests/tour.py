"""The guided tour over the demo network: its requests, and the parts of answers that it shows.

    $ curl -s 'http://127.0.0.1:8000/api/v1/accounts/0.0.1001'
    {"account":"0.0.1001","memo":"Ada", …}

A shown answer is a part of the real one: `…` stands for the rest. `python -m tests.tour FILE...` sends the
requests to a node on port 8000 and replaces the answers in the files, with the same parts.
"""

import json
import re
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS

WIDTH = 104
_LEFT_OUT = re.compile(r",?\s*…")
_REQUEST = re.compile(
    r"^    \$ (?:printf '(?P<bytes>[^']+)' \|\n      )?curl -s 'http://127\.0\.0\.1:8000(?P<path>\S+)'"
    r"(?: \\\n     +-H 'content-type: application/"
    r"(?:json' -d '(?P<body>\{.*\})'|protobuf' --data-binary @-))?\n"
    r"(?P<answer>(?:    (?!\$ ).+\n)*)",
    re.MULTILINE,
)

Ask = Callable[[str, str | bytes | None], Any]


@dataclass(frozen=True)
class Stop:
    """A request of the tour. `body` is that of a POST, `shown` the part of the answer that the page shows.

    JSON is text, and a protobuf message bytes.
    """

    path: str
    body: str | bytes | None
    answer: str

    @property
    def shown(self) -> Any:
        # Lines are wrapped anywhere, even within strings.
        text = "".join(line.removeprefix("    ") for line in self.answer.splitlines())
        return json.loads(_LEFT_OUT.sub("", text)) if text else None


def stops(page: str) -> list[Stop]:
    return [_stop(match) for match in _REQUEST.finditer(page)]


def _stop(match: re.Match[str]) -> Stop:
    body: str | bytes | None = match["body"]
    if match["bytes"]:
        # The escapes of printf are those of Python.
        body = match["bytes"].encode().decode("unicode_escape").encode("latin-1")
    return Stop(match["path"], body, match["answer"])


def content_type(body: str | bytes) -> str:
    return "application/json" if isinstance(body, str) else "application/protobuf"


def part(answer: Any, like: Any) -> Any:
    """Return the part of an answer that has the keys of `like`, and as many items in its lists."""
    if isinstance(answer, dict) and isinstance(like, dict):
        return {key: part(answer[key], like[key]) for key in like if key in answer}
    if isinstance(answer, list) and isinstance(like, list):
        return [part(*pair) for pair in zip(answer, like, strict=False)]
    return answer


def refreshed(page: str, ask: Ask) -> str:
    """Return the page with current answers."""

    def request(match: re.Match[str]) -> str:
        stop = _stop(match)
        answer = ask(stop.path, stop.body)
        text = _text(answer, answer if stop.shown is None else stop.shown)
        return match[0].removesuffix(match["answer"]) + "".join(f"    {line}\n" for line in _wrapped(text))

    return _REQUEST.sub(request, page)


def _wrapped(text: str) -> list[str]:
    """Split a text into lines, after commas where possible."""
    lines = [""]
    for piece in re.split(r"(?<=,)", text):
        if lines[-1] and len(lines[-1]) + len(piece) > WIDTH:
            lines.append("")
        lines[-1] += piece
    return [line[at : at + WIDTH] for line in lines for at in range(0, len(line), WIDTH)]


def _text(answer: Any, like: Any) -> str:
    """Return compact JSON of the part of an answer, with `…` where something is left out."""
    if isinstance(answer, dict) and isinstance(like, dict):
        shown = [f"{json.dumps(key)}:{_text(answer[key], like[key])}" for key in like if key in answer]
        return "{" + ",".join(shown) + (", …" if len(shown) < len(answer) else "") + "}"
    if isinstance(answer, list) and isinstance(like, list):
        shown = [_text(*pair) for pair in zip(answer, like, strict=False)]
        return "[" + ",".join(shown) + (", …" if len(shown) < len(answer) else "") + "]"
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False)


def _ask(path: str, body: str | bytes | None) -> Any:
    data = body.encode() if isinstance(body, str) else body
    request = urllib.request.Request(f"http://127.0.0.1:8000{path}", data)
    if body:
        request.add_header("Content-Type", content_type(body))
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


def main() -> None:
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(refreshed(page.read_text(), _ask))


if __name__ == "__main__":
    main()
