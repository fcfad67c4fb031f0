"""Lengths of time and sizes of data as people read them."""


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
