"""A setting: its names, its range, and how its text in the environment is read."""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

PREFIX = "svc.mirror."

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PORT = re.compile(r"[0-9]{1,5}")
_RANGE = re.compile(r"[0-9]{1,11}(?:-[0-9]{1,11})?")
_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}


def variable_name(name: str) -> str:
    return (PREFIX + name).upper().replace(".", "_")


class OperatorError(Exception):
    """Ends a command with its message: what is wrong and what would be right, in a few plain sentences.

    `manage.py` prints it without a traceback and exits with `exit_code` (1 failed, 2 wrong use).
    """

    exit_code = 1


class InvalidSetting(OperatorError):
    """A setting has an unusable value; the message names the variable, the value and what would be right."""

    exit_code = 2


@dataclass(frozen=True)
class Setting:
    """One operator setting; `default` decides the type: bool, int, float, str, str tuple (comma separated).

    `unit="duration"` reads `10s`, `35m`, `7d` (also plain seconds) and gives seconds as float.
    `unit="ranges"` is a str tuple of numbers and of ranges such as `44-71`, both ends included.
    `unit="ports"` is one of ports.
    """

    name: str
    default: bool | int | float | str | tuple[str, ...] | None
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    environment: str = ""
    secret: bool = False
    kind: type = field(default=str)

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "kind", float if self.unit == "duration" else type(self.default))

    @property
    def property_name(self) -> str:
        return PREFIX + self.name

    @property
    def variable(self) -> str:
        return self.environment or variable_name(self.name)

    @property
    def range(self) -> str:
        """The allowed values in words, empty when all are."""
        if self.choices:
            return ", ".join(self.choices)
        low, high = (None if bound is None else f"{bound:.15g}" for bound in (self.low, self.high))
        if low and high:
            return f"{low} to {high}"
        return f"at least {low}" if low else f"at most {high}" if high else ""

    @property
    def default_text(self) -> str:
        """The default as an operator would write it in the environment."""
        if self.default is None:
            return ""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return ",".join(self.default) if isinstance(self.default, tuple) else str(self.default)

    @property
    def explanation(self) -> str:
        unit = {
            "duration": "A duration such as 500ms, 10s, 35m, 2h or 7d.",
            "ranges": "Numbers and ranges of them, such as 2,44-71.",
            "ports": "Numbers from 1 to 65535, separated by commas.",
            "share": "A share such as 1/3 or 0.4, from 0 to 1.",
        }.get(self.unit, f"In {self.unit}." if self.unit else "")
        allowed = f"{self.range[0].upper()}{self.range[1:]}." if self.range else ""
        return " ".join(part for part in (self.help, unit, allowed) if part)

    def read(self, text: str) -> Any:
        """Return the typed value of a text from the environment. Errors: InvalidSetting."""
        assignment = self.variable if self.secret else f"{self.variable}={text!r}"
        try:
            value = self._convert(text.strip())
        except ValueError as error:
            raise InvalidSetting(f"{assignment} is not {error}.") from None
        if self.choices and value not in self.choices:
            raise InvalidSetting(f"{assignment} must be one of {self.range}.")
        if isinstance(value, int | float) and not isinstance(value, bool):
            too_low = self.low is not None and value < self.low
            too_high = self.high is not None and value > self.high
            if too_low or too_high:
                unit = f" {self.unit}" if self.unit and self.unit != "duration" else ""
                raise InvalidSetting(f"{assignment} must be {self.range}{unit}.")
        return value

    def _convert(self, text: str) -> Any:
        if self.unit == "duration":
            match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", text)
            if not match:
                raise ValueError("a duration such as 500ms, 10s, 35m, 2h or 7d")
            return float(match[1]) * _DURATION_UNITS[match[2] or "s"]
        if self.unit == "share":
            if not re.fullmatch(r"\d{1,20}(\.\d{1,20}|/0*[1-9]\d{0,19})?", text) or Fraction(text) > 1:
                raise ValueError("a share such as 1/3 or 0.4, from 0 to 1")
            return Fraction(text)
        if self.unit == "hex":
            if not re.fullmatch(r"0x[0-9a-fA-F]{1,64}", text):
                raise ValueError("a number in hex, such as 0x128")
            return text.lower()
        if self.kind is bool:
            if text.lower() not in _TRUE | _FALSE:
                raise ValueError("true or false")
            return text.lower() in _TRUE
        if self.kind is int:
            if not re.fullmatch(r"-?\d+", text):
                raise ValueError("a whole number")
            return int(text)
        if self.kind is float:
            if not re.fullmatch(r"-?\d+(\.\d+)?", text):
                raise ValueError("a number")
            return float(text)
        if self.kind is tuple:
            parts = tuple(part.strip() for part in text.split(",") if part.strip())
            if self.unit == "ranges" and not (parts and all(map(_RANGE.fullmatch, parts))):
                raise ValueError("numbers and ranges of them, such as 2,44-71")
            if self.unit == "ports" and not all(
                _PORT.fullmatch(part) and 0 < int(part) < 1 << 16 for part in parts
            ):
                raise ValueError("a list of ports from 1 to 65535, such as 5551,8545")
            return parts
        return text
