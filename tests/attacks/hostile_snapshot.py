"""An attacker shares a snapshot whose manifest also names the accounts of the admin, with one for himself.

An operator loads it into a new node by `manage.py snapshot load`, which then has the attacker's superuser.
"""

import gzip
import hashlib
import json
import tempfile
from pathlib import Path

from tests.attacks.attack import Outcome, Target
from tests.node import Node

_ACCOUNT = {
    "id": "66", "password": "!", "last_login": r"\N", "is_superuser": "t", "username": "mallory",
    "first_name": "", "last_name": "", "email": "", "is_staff": "t", "is_active": "t",
    "date_joined": "2025-01-01 00:00:00+00",
}  # fmt: skip
# The tables that refer to accounts, and those that these refer to: they are emptied together.
_EMPTIED = (
    "auth_group", "auth_group_permissions", "auth_permission", "auth_user_groups",
    "auth_user_user_permissions", "django_admin_log", "django_content_type",
)  # fmt: skip


def attack(target: Target) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        snapshot, data = Path(folder, "snapshot"), Path(folder, "data")
        data.mkdir()
        saved = target.node.run("snapshot", "save", str(snapshot))
        assert saved.returncode == 0, saved.stderr
        _add_account(snapshot)
        victim = Node(data)
        victim.checkout = target.node.checkout
        loaded = victim.run("snapshot", "load", str(snapshot))
        # The command fails for an account that does not exist.
        succeeded = victim.run("password", "--user", "mallory", "--print").returncode == 0
        victim.server.stop()
    refused = "the snapshot is refused" if loaded.returncode else "the account is left out"
    return Outcome(succeeded, "a superuser of the attacker" if succeeded else refused)


def _add_account(snapshot: Path) -> None:
    rows = gzip.compress("\t".join(_ACCOUNT.values()).encode() + b"\n")
    (snapshot / "auth_user-00000.gz").write_bytes(rows)
    path = snapshot / "manifest.json"
    content = json.loads(path.read_text())
    del content["sha256"]
    for table in _EMPTIED:
        content["tables"][table] = {"columns": ["id"], "rows": 0}
    content["tables"]["auth_user"] = {"columns": [*_ACCOUNT], "rows": 1}
    file = {"name": "auth_user-00000.gz", "table": "auth_user", "rows": 1, "bytes": len(rows)}
    content["files"].append(file | {"sha256": hashlib.sha256(rows).hexdigest()})
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content | {"sha256": digest}))
