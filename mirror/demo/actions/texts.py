"""The messages and memos of topics."""

import json

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


# The memo of a topic about each subject.
SUBJECTS = (
    "Weather stations",
    "Coffee from {}: every step",
    "Auction house of {}",
    "Chess club {}, game {}",
    "Town hall of {}",
    "Chat, {} and around",
)


def memo(network: Network, subject: int) -> str:
    return SUBJECTS[subject].format(network.choose.choice(_PLACES), network.choose.randrange(1, 200))


def message(network: Network, subject: int, number: int) -> bytes:
    """Return a message about a subject, the `number`-th of its topic."""
    choose = network.choose
    match subject:
        case 0:
            place, celsius = choose.choice(_PLACES), round(choose.uniform(-8, 36), 1)
            measured = {"celsius": celsius, "humidity": choose.randrange(20, 100)}
            return json.dumps({"station": place, **measured, "reading": number}).encode()
        case 1:
            lot, step = f"C-{1000 + number // len(_STEPS)}", _STEPS[number % len(_STEPS)]
            return json.dumps({"lot": lot, "step": step, "at": network.now // NANOS_PER_SECOND}).encode()
        case 2:
            bid = 50 + number % 8 * 25 + choose.randrange(20)
            return json.dumps({"lot": _LOTS[number // 8 % len(_LOTS)], "bid": bid}).encode()
        case 3:
            return f"{(number + 1) // 2}{'.' if number % 2 else '...'} {choose.choice(_PIECES)}".encode()
        case 4:
            return choose.choice(_REMARKS).encode()
    place = choose.choice(_PLACES)
    greetings = (f"Hello from {place}!", f"Anyone in {place} today?", "👍", "See you tomorrow")
    return choose.choice((*greetings, f"Train to {place} is late")).encode()


def long_message(network: Network, subject: int) -> bytes:
    """Return a message that takes two or three chunks: minutes, whatever the subject."""
    lines = [f"Minutes of {memo(network, subject)}", ""]
    for number in range(1, network.choose.randrange(24, 44)):
        lines.append(f"{number}. {network.choose.choice(_REMARKS)}")
    return "\n".join(lines).encode()
