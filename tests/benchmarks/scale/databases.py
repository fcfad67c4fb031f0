"""Databases to measure: a node's data folder, or a URL of PostgreSQL."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import in_use

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def reachable(where: str) -> Iterator[str]:
    """Yield the URL of a database; that of a data folder is started if it does not run."""
    if "://" in where:
        yield where
        return
    with in_use(Path(where).resolve()):
        yield f"postgresql:///{DATABASE}?host={server_paths(Path(where).resolve()).socket}&user={ROLE}"


def environment(url: str, **settings: str) -> dict[str, str]:
    """The environment of a process of ours on that database, without the response cache."""
    others = {name: text for name, text in os.environ.items() if not name.startswith("SVC_MIRROR_")}
    return others | {"DATABASE_URL": url, "SVC_MIRROR_REST_CACHE_RESPONSE_ENABLED": "false"} | settings
