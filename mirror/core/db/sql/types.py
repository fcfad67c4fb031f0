"""What statements take and return."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = tuple[Any, ...]
#: The values of the placeholders, in order or by name.
Values = Sequence[Any] | Mapping[str, Any]
