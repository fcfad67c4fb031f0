"""The values of the operator's settings in this process; `mirror.core.config.settings` declares them.

A setting's property name is `svc.mirror.` + its name. Its environment variable is the property name in upper
case with underscores for dots: `svc.mirror.rest.response.limit.max` is `SVC_MIRROR_REST_RESPONSE_LIMIT_MAX`.
A few settings that other software knows by a shorter variable (`DATABASE_URL`) name it themselves.

No other module reads the environment.
"""

import difflib
import os
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from typing import Any

from mirror.core.config.setting import InvalidSetting, Setting, variable_name
from mirror.core.config.settings import REMOVED, SETTINGS
from mirror.core.values import entity_id

_VARIABLE_PREFIX = variable_name("")
# Defaults in these units are written as an operator would write them.
_READ_DEFAULTS = {"duration", "share"}

_BY_NAME = {setting.name: setting for setting in SETTINGS}
# Settings with a shorter variable, by the variable that their name would give.
_BY_OTHER_NAME = {variable_name(setting.name): setting for setting in SETTINGS if setting.environment}
_REMOVED = frozenset(map(variable_name, REMOVED))


def load(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the value of every setting in `environment`. Errors: InvalidSetting for the first bad one."""
    known = {setting.variable for setting in SETTINGS}
    for variable in environment:
        if variable.startswith(_VARIABLE_PREFIX) and variable not in known | _REMOVED:
            if setting := _BY_OTHER_NAME.get(variable):
                raise InvalidSetting(f"The {setting.name.rpartition('.')[2]} is set by {setting.variable}.")
            near = difflib.get_close_matches(variable, known, n=1)
            meant = f"did you mean {near[0]}?" if near else "`manage.py settings` lists all."
            raise InvalidSetting(f"No setting is called {variable}: {meant}")
    return {setting.name: _value(setting, environment.get(setting.variable)) for setting in SETTINGS}


def removed_settings(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return a sentence that names the variables of settings that are gone; None if none is set.

    Such settings had no effect before, and must not prevent a node from starting.
    """
    variables = sorted(_REMOVED & environment.keys())
    if not variables:
        return None
    names = ", ".join(variables)
    instead = "".join(
        f" {text}" for name, text in REMOVED.items() if text and variable_name(name) in variables
    )
    if len(variables) == 1:
        return (
            f"{names}: this setting is gone, nothing reads it any more. Its variable may be removed.{instead}"
        )
    gone = "these settings are gone, nothing reads them any more. Their variables may be removed."
    return f"{names}: {gone}{instead}"


def _value(setting: Setting, text: str | None) -> Any:
    if text:
        return setting.read(text)
    default = setting.default
    return setting.read(str(default)) if setting.unit in _READ_DEFAULTS and default else default


@cache
def _loaded() -> dict[str, Any]:
    return load(os.environ)


def value(name: str) -> Any:
    """Return the value of the setting `name` (without the prefix); the environment is read once."""
    return _loaded()[name]


def set_defaults(defaults: Mapping[str, str]) -> None:
    """Set settings that the environment leaves out, in this process and in those that it starts."""
    for name, text in defaults.items():
        variable = _BY_NAME[name].variable
        os.environ[variable] = os.environ.get(variable) or text
    _loaded.cache_clear()


def values() -> dict[str, Any]:
    return dict(_loaded())


def lookup(name: str) -> Setting:
    return _BY_NAME[name]


def shard_and_realm() -> tuple[int, int]:
    """Return the network's own shard and realm."""
    return value("common.shard"), value("common.realm")


def own_id(num: int) -> int:
    """Return the encoded id of this number in the network's own shard and realm."""
    return entity_id.encode(*shard_and_realm(), num)


def overridden(changes: Mapping[str, Any]) -> ExitStack:
    """Change values of this process, until the returned context ends or is closed."""
    unknown = changes.keys() - _BY_NAME.keys()
    if unknown:
        raise InvalidSetting(f"No setting is called {', '.join(sorted(unknown))}.")
    restore = ExitStack()
    restore.callback(_loaded().update, dict(_loaded()))
    _loaded().update(changes)
    return restore
