"""The messages and memos of topics."""

import json
from collections.abc import Callable

from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.network import Network

_PLACES = ("Accra", "Bergen", "Cusco", "Dhaka", "Edirne", "Fukuoka", "Ghent", "Havana", "Izmir", "Jaipur")
_STEPS = ("picked", "washed", "dried", "packed", "weighed", "loaded", "shipped", "cleared", "received")
_LOTS = ("Blue vase", "Sea chart of 1780", "Grandfather clock", "Silver spoon", "Persian rug", "Old globe")
_PIECES = ("Nf3", "e4", "d4", "c5", "Nc6", "Bb5", "a6", "O-O", "Be7", "Re1", "b5", "Bb3", "d6", "c3")
_REMARKS = (
    "The minutes of the last meeting were approved.",
    "The new bridge opens in spring, a month later than planned.",
    "Three offers came in for the school roof; the second was taken.",
    "The library asks for longer hours on Saturdays.",
    "Dogs stay on the leash in the park until the ducklings have left.",
    "The budget for street lights was raised by four percent.",
    "A thank you went to everyone who helped after the storm.",
    "The market moves to the harbour while the square is paved.",
)

# Additions to the memo of a topic.
RULES = ("please be brief", "in English", "no advertising", "readers welcome", "archived weekly")


def _reading(network: Network, number: int) -> bytes:
    place = network.choose.choice(_PLACES)
    celsius, humidity = round(network.choose.uniform(-8, 36), 1), network.choose.randrange(20, 100)
    return _json({"station": place, "celsius": celsius, "humidity": humidity, "reading": number})


def _step(network: Network, number: int) -> bytes:
    at = network.now // NANOS_PER_SECOND
    lot = f"C-{1000 + number // len(_STEPS)}"
    return _json({"lot": lot, "step": _STEPS[number % len(_STEPS)], "at": at})


def _bid(network: Network, number: int) -> bytes:
    lot = _LOTS[number // 8 % len(_LOTS)]
    return _json({"lot": lot, "bid": 50 + number % 8 * 25 + network.choose.randrange(20)})


def _move(network: Network, number: int) -> bytes:
    return f"{(number + 1) // 2}{'.' if number % 2 else '...'} {network.choose.choice(_PIECES)}".encode()


def _remark(network: Network, number: int) -> bytes:
    return network.choose.choice(_REMARKS).encode()


def _greeting(network: Network, number: int) -> bytes:
    place = network.choose.choice(_PLACES)
    greetings = (f"Hello from {place}!", f"Anyone in {place} today?", "👍", "See you tomorrow")
    return network.choose.choice((*greetings, f"Train to {place} is late")).encode()


SUBJECTS: tuple[tuple[str, Callable[[Network, int], bytes]], ...] = (
    ("Weather stations", _reading),
    ("Coffee from {}: every step", _step),
    ("Auction house of {}", _bid),
    ("Chess club {}, game {}", _move),
    ("Town hall of {}", _remark),
    ("Chat, {} and around", _greeting),
)


def memo(network: Network, subject: int) -> str:
    """Return the memo of a topic about a subject."""
    return SUBJECTS[subject][0].format(network.choose.choice(_PLACES), network.choose.randrange(1, 200))


def message(network: Network, subject: int, number: int) -> bytes:
    """Return a message about a subject, the `number`-th of its topic."""
    return SUBJECTS[subject][1](network, number)


def long_message(network: Network, subject: int) -> bytes:
    """Return a message that takes two or three chunks: minutes, whatever the subject."""
    lines = [f"Minutes of {memo(network, subject)}", ""]
    for number in range(1, network.choose.randrange(24, 44)):
        lines.append(f"{number}. {network.choose.choice(_REMARKS)}")
    return "\n".join(lines).encode()


def _json(values: dict[str, object]) -> bytes:
    return json.dumps(values).encode()
