"""Lengths of time, sizes of data and text of others as people read them."""

import re

# Controls, and what Unicode lists as default-ignorable or as turning the direction. Emoji have variation
# selectors, so they stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)


def marked(text: str) -> str:
    """Return text whose characters that hide or turn text are shown as marks, such as ⟨U+202E⟩."""
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def duration(seconds: int) -> str:
    """Return a length of time in its largest unit, such as "2 days"."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            return f"{count:,} {unit}{'s' if count > 1 else ''}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def byte_size(count: float) -> str:
    """Return a number of bytes in its largest unit, such as "3.5 GB"."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TB"
