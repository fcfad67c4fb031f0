"""The Helm chart: what its templates name exists, and its pods have no rights that they do not need."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from django.urls import resolve

from mirror.core.config import load
from tests.test_deploy import DOCKERFILE, GRPC_PORT, PORT, ROOT, variables_of_image

CHART = ROOT / "deploy/helm/ledger-mirror"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
TEMPLATES = {path.stem: path.read_text() for path in sorted(CHART.glob("templates/*"))}
ALL = "\n".join(TEMPLATES.values())
KINDS = ["Job", *["Deployment"] * 3, *["NetworkPolicy"] * 4, *["PodDisruptionBudget", "Service"] * 2]
SERVERS = ("api", "grpc")
WORKLOADS = (*SERVERS, "loader", "upgrade")
HELM = pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")


def documents(*options: str) -> list[dict[str, Any]]:
    """Return what Helm makes of the chart."""
    done = subprocess.run(
        ["helm", "template", "node", CHART, *options], capture_output=True, text=True, check=True
    )
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def test_the_chart_has_the_version_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = settings.VERSION

    assert chart["version"] == chart["appVersion"] == VALUES["image"]["tag"] == version
    assert chart["name"] == CHART.name


def test_templates_use_all_values_and_no_others() -> None:
    used = set(re.findall(r"\.Values\.([\w.]+)", ALL))
    sections = ("image", "api", "grpc", "loader", "upgrade", "networkPolicy")
    existing = {f"{section}.{name}" for section in sections for name in VALUES[section]}

    assert used == existing | (VALUES.keys() - set(sections))


def test_values_are_settings_of_the_program() -> None:
    assert load(VALUES["settings"])["network"] == "testnet"


def test_included_templates_are_defined() -> None:
    assert set(re.findall(r'include "(\w+)"', ALL)) == set(re.findall(r'define "(\w+)"', ALL))


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_pod_runs_a_command_of_the_image(name: str) -> None:
    (arguments,) = re.findall(r"args: \[python, manage\.py, (.+)\]", TEMPLATES[name])

    assert get_commands()[arguments.split(", ")[0]] == "mirror"
    assert TEMPLATES[name].count('include "pod"') == TEMPLATES[name].count('include "container"') == 1
    assert "resources:" in TEMPLATES[name]


def test_ports_paths_and_user_are_those_of_the_image() -> None:
    assert re.findall(r"containerPort: (\d+)", ALL) == [str(PORT), str(GRPC_PORT)]
    assert re.findall(r"grpc: \{port: (\d+)\}", ALL) == [str(GRPC_PORT)]
    assert all(resolve(path) for path in re.findall(r"path: (/health/\w+)", ALL))
    assert f"mountPath: {variables_of_image()['SVC_MIRROR_DATA']}\n" in ALL
    (user,) = re.findall(r"runAsUser: (\d+)", ALL)
    assert f"--uid {user} " in DOCKERFILE


def test_the_loader_is_alive_while_the_file_of_its_counts_is_new(tmp_path: Path) -> None:
    loader = yaml.safe_load(re.sub(r"^.*\{\{.*$", "", TEMPLATES["loader"], flags=re.M))
    (container,) = loader["spec"]["template"]["spec"]["containers"]
    probe = container["livenessProbe"]
    folder = variables_of_image()["PROMETHEUS_MULTIPROC_DIR"]
    *start, script = probe["exec"]["command"]
    assert f" {folder} " in script

    def fails() -> bool:
        command = [*start, script.replace(folder, str(tmp_path / "metrics"))]
        return subprocess.run(command, capture_output=True).returncode != 0

    assert fails()
    file = tmp_path / "metrics/0.process"
    file.parent.mkdir()
    file.touch()
    assert not fails()
    os.utime(file, (time.time() - 120,) * 2)
    assert fails()
    # It waits for the database for less time at its start.
    seconds = probe["periodSeconds"] * (probe["failureThreshold"] - 1)
    assert seconds > load({})["common.databaseStartup.timeout"]


@HELM
def test_helm_accepts_the_chart() -> None:
    done = subprocess.run(["helm", "lint", "--strict", CHART], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(
    not all(map(shutil.which, ("helm", "kubernetes-validate"))),
    reason="helm and kubernetes-validate are not both installed",
)
def test_kubernetes_knows_all_fields_of_the_chart(tmp_path: Path) -> None:
    path = tmp_path / "chart.yaml"
    path.write_text(yaml.safe_dump_all(documents()))
    done = subprocess.run(["kubernetes-validate", "--strict", path], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


@HELM
def test_the_chart_makes_all_objects_and_restricted_pods() -> None:
    made = documents()

    assert sorted(document["kind"] for document in made) == sorted([*KINDS, "ServiceAccount"])
    for document in made:
        assert document["apiVersion"] and document["metadata"]["name"] and document["metadata"]["labels"]
    workloads = [document for document in made if document["kind"] in ("Deployment", "Job")]
    pods = {each["metadata"]["name"]: each["spec"]["template"] for each in workloads}
    assert pods.keys() == {f"node-{name}" for name in WORKLOADS}
    for name, pod in pods.items():
        assert_restricted(pod["spec"])
        (container,) = pod["spec"]["containers"]
        settings = load({each["name"]: each["value"] for each in container["env"]})
        assert (settings["network"], settings["grpc.port"]) == (
            "testnet",
            GRPC_PORT if name == "node-grpc" else 0,
        )


def assert_restricted(pod: dict[str, Any]) -> None:
    """Check the rules of the standard `restricted` of Kubernetes, and a read-only root file system."""
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {each["mountPath"] for each in container["volumeMounts"]} == {"/data", "/tmp"}
    assert all(volume["emptyDir"] == {} for volume in pod["volumes"])
    assert container["envFrom"] == [{"secretRef": {"name": "ledger-mirror"}}]
    assert container["resources"].keys() == {"requests", "limits"}


@HELM
def test_services_and_policies_select_the_pods_of_the_chart() -> None:
    made = documents("--set", "api.replicas=3", "--set", "grpc.replicas=3")
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in made}

    for server in SERVERS:
        pods = by_name["Deployment", f"node-{server}"]["spec"]
        labels = pods["template"]["metadata"]["labels"]
        assert pods["replicas"] == 3
        assert by_name["Service", f"node-{server}"]["spec"]["selector"] == labels
        disruption = by_name["PodDisruptionBudget", f"node-{server}"]["spec"]
        assert disruption["selector"]["matchLabels"] == labels
        for name in ("node", f"node-{server}"):
            policy = by_name["NetworkPolicy", name]["spec"]
            assert policy["podSelector"]["matchLabels"].items() <= labels.items()
