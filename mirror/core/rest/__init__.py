"""The HTTP kit of the API, on Django REST framework."""

import sys

# REST framework imports these for its browsable API and its test client wherever they are installed, which
# takes each process 0.1 s and some memory. It does without those that can't be imported.
_UNUSED = [name for name in ("pygments", "requests") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_UNUSED))  # type: ignore[arg-type]
import rest_framework.compat  # noqa: E402, F401

for _name in _UNUSED:
    del sys.modules[_name]
