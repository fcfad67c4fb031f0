"""What a node is deployed with names only files, commands, variables, ports and pages that there are."""

import ipaddress
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands
from django.urls import resolve
from packaging.specifiers import SpecifierSet

from mirror.core.config import load
from mirror.core.config.reverse_proxies import is_within
from mirror.core.config.setting import variable_name
from mirror.web.sdk_ports import DEFAULTS

ROOT = Path(__file__).resolve().parents[1]
UNITS = sorted(ROOT.glob("deploy/systemd/*.service"))
PROXIES = [ROOT / "deploy/nginx/ledger-mirror.conf", ROOT / "deploy/caddy/Caddyfile"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PORT, GRPC_PORT = load({})["web.port"], int(DEFAULTS["grpc.port"])
APPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]


def variables_of_image() -> dict[str, str]:
    """Return the environment that the image gives the node."""
    (block,) = re.findall(r"^ENV ((?:.*\\\n)*.*)$", DOCKERFILE, re.M)
    return dict(pair.split("=", 1) for pair in block.replace("\\\n", " ").split())


def commands(text: str) -> list[str]:
    """Return what follows manage.py wherever it is started."""
    return re.findall(r'manage\.py"?,? "?([a-z]+)', text)


def test_the_image_has_all_that_a_node_needs_and_nothing_else():
    taken = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert taken == {"LICENSE", "README.md", "manage.py", "pyproject.toml", "requirements.txt", *APPS}
    assert all((ROOT / name).exists() for name in taken)
    (compiled,) = re.findall(r"compileall -q (.*) \.venv/lib", DOCKERFILE)
    assert set(compiled.split()) == set(APPS)


def test_the_image_serves_on_the_port_that_it_names_as_a_user_without_rights():
    variables = variables_of_image()
    values = load(variables)

    assert re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.M) == [f"{values['web.port']} {GRPC_PORT}"]
    assert values["web.port"] == PORT
    assert values["web.host"] == "0.0.0.0"
    assert re.findall(r"^VOLUME (.*)$", DOCKERFILE, re.M) == [values["data"]]
    *_, user = re.findall(r"^(?:USER|FROM) (.*)$", DOCKERFILE, re.M)
    assert f"--mode 0700 {values['data']}" in DOCKERFILE
    assert f" {user} \\" in DOCKERFILE


def test_the_image_starts_a_command_and_is_watched_by_a_page_that_there_is():
    (started,) = re.findall(r"^CMD (.*)$", DOCKERFILE, re.M)
    (check,) = re.findall(r"^HEALTHCHECK .*\\\n +CMD (.*)$", DOCKERFILE, re.M)
    python, option, script = json.loads(check)
    (path,) = re.findall(r"http://127\.0\.0\.1:\{os\.environ\[\"PORT\"\]\}(/[\w/]+)", script)

    assert json.loads(started) == ["python", "manage.py", "up"]
    assert (python, option) == ("python", "-c") and compile(script, "HEALTHCHECK", "exec")
    assert resolve(path)


def test_the_image_has_a_base_by_digest_and_packages_by_hash_as_wheels():
    (base,) = re.findall(r"^ARG BASE=(.*)$", DOCKERFILE, re.M)
    tag, _, digest = base.partition("@")
    version = re.fullmatch(r"python:(3\.\d+)-slim-trixie", tag)

    assert version and re.fullmatch(r"sha256:[0-9a-f]{64}", digest)
    assert f" {tag}` prints the digest" in DOCKERFILE
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.M) == ["${BASE}", "${BASE}"]
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert SpecifierSet(required).contains(version[1])
    (options,) = re.findall(r"pip .*install ((?:.*\\\n)*.*)$", DOCKERFILE, re.M)
    assert options.replace("\\\n", " ").split() == [
        "--no-cache-dir",
        "--require-hashes",
        *("--only-binary", ":all:"),
        *("--requirement", "requirements.txt"),
    ]
    # Nothing but wheels: no compiler, no packages of Debian, no repository.
    assert not re.search(r"apt-get|\bgcc\b|\bgit\b", DOCKERFILE)


def test_every_image_of_others_is_pinned_by_digest():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    deployed = [
        ROOT / "Dockerfile",
        ROOT / "compose.yaml",
        *ROOT.glob("deploy/**/*.y*ml"),
        *ROOT.glob(".ci/*"),
    ]
    documented = [*ROOT.glob("*.md"), *ROOT.glob("mirror/docs/*.md")]

    pinned = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
    assert all(pinned.fullmatch(each["image"]) for each in services if "build" not in each)
    # Those named elsewhere, such as in an example, too; our own is built here.
    named = r"(?m)^(?!\s*#).*?\b(?:image: |FROM |docker run (?:-\S+ )*)[\"']?([\w./-]+:[\w.-]+(?:@\S+)?)"
    images = [image for path in (*deployed, *documented) for image in re.findall(named, path.read_text())]
    assert len(images) >= 2
    assert [image for image in images if not pinned.fullmatch(image) and "ledger-mirror" not in image] == []


def test_the_services_of_compose_fit_the_image_and_each_other():
    content: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = content["services"]
    node, mirror = services["node"], services["mirror"]

    for each in (node, mirror):
        assert each["ports"] == [
            f"127.0.0.1:${{PORT:-{PORT}}}:{PORT}",
            f"127.0.0.1:${{GRPC_PORT:-{GRPC_PORT}}}:{GRPC_PORT}",
        ]
        (volume,) = each["volumes"]
        assert volume.partition(":")[2] == variables_of_image()["SVC_MIRROR_DATA"]
        # Whatever PORT the settings of the node have.
        assert load(each["environment"])["web.port"] == PORT
        assert load(each["environment"])["grpc.port"] == GRPC_PORT
        assert each["read_only"] and each["init"] and each["cap_drop"] == ["ALL"]
    # There is no default password.
    password = re.compile(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}")
    assert password.fullmatch(services["database"]["environment"]["POSTGRES_PASSWORD"])
    given = {name: password.sub("secret", text) for name, text in mirror["environment"].items()}
    assert load(given)["db.url"] == "postgresql://mirror_node:secret@database:5432/mirror_node"
    assert load(given)["rest.redis.uri"] == "redis://redis:6379/0"
    assert mirror["depends_on"].keys() == {"database", "redis"} < services.keys()
    assert all(
        "healthcheck" in services[name] and "ports" not in services[name] for name in mirror["depends_on"]
    )
    named = {volume.partition(":")[0] for each in services.values() for volume in each.get("volumes", ())}
    assert named == content["volumes"].keys()


def test_a_proxy_beside_the_containers_is_trusted_by_the_line_of_the_page():
    content: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    (network,) = content["networks"]["default"]["ipam"]["config"]
    page = (ROOT / "mirror/docs/deploy.md").read_text()
    part = page.partition("## In containers")[2].partition("\n## ")[0]
    settings = dict(re.findall(r"^    (SVC_MIRROR_\w+)=(\S+)$", part, re.M))

    assert content["networks"].keys() == {"default"}
    assert not any("networks" in service for service in content["services"].values())
    assert load(settings)["web.trustedProxies"] == (network["subnet"],)
    gateway = next(ipaddress.ip_network(network["subnet"]).hosts())
    assert is_within(str(gateway), (network["subnet"],))


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_unit_of_systemd_starts_one_of_our_commands(unit: Path):
    text = unit.read_text()
    lines = dict(line.split("=", 1) for line in text.splitlines() if re.match(r"\w+=", line))

    assert get_commands()[commands(lines["ExecStart"])[0]] == "mirror"
    name, _, folder = lines["Environment"].partition("=")
    assert (name, folder) == (variable_name("data"), f"/var/lib/{lines['StateDirectory']}")
    assert lines["Documentation"].removeprefix("file:///opt/ledger-mirror/") == "mirror/docs/deploy.md"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_units():
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *UNITS], capture_output=True, text=True, check=False
    )
    found = [line for line in done.stderr.splitlines() if "ledger-mirror" in line]

    # The node is not installed where the units want it.
    assert [line for line in found if "is not executable" not in line] == []


@pytest.mark.parametrize("path", PROXIES, ids=lambda path: path.name)
def test_a_proxy_passes_requests_on_to_the_port_and_says_who_asks(path: Path):
    text = path.read_text()

    ports = set(re.findall(r"(?:server |reverse_proxy |h2c://)(127\.0\.0\.1:\d+)", text))
    assert ports == {f"127.0.0.1:{PORT}", f"127.0.0.1:{GRPC_PORT}"}
    assert "com.hedera.mirror.api.proto." in text
    for header in ("-For", "-Proto", "-Host"):
        assert header in text
    settings = dict(pair.split("=", 1) for pair in re.findall(r"SVC_MIRROR_\S+=\S+", text))
    assert load(settings)
    # nginx drops names with "_" by itself: for the node, they are the same as those with "-".
    assert "header_up -*_*\n" in text if path.name == "Caddyfile" else "underscores_in_headers" not in text
    # Of the node's answers, not of clients.
    limits = [int(seconds) for seconds in re.findall(r"(?:proxy_read|response_header)_timeout (\d+)s", text)]
    assert limits and min(limits) > load({})["web3.opcode.tracer.timeout"]
