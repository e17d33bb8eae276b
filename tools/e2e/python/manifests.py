"""Validates the manifests in a folder: python manifests.py deploy/kubernetes

Kinds of Kubernetes are held against the schemas that the package kubernetes-validate brings, strictly. A patch is put
into a Deployment first. SpinApp is held against the fields of its definition (spinapps.core.spinkube.dev, v1alpha1) that
are used here, written down below: no cluster has seen it.
"""

import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml

TEXT = {"type": "string", "minLength": 1}


def closed(required, **properties):
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


KEY_REFERENCE = closed(["name", "key"], name=TEXT, key=TEXT)
PROBE = closed(
    ["httpGet"],
    httpGet=closed(["path"], path={"type": "string", "pattern": "^/"}),
    initialDelaySeconds={"type": "integer", "minimum": 0},
    periodSeconds={"type": "integer", "minimum": 1},
    timeoutSeconds={"type": "integer", "minimum": 1},
    failureThreshold={"type": "integer", "minimum": 1},
)
AMOUNTS = {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}
VARIABLE = closed(
    ["name"],
    name={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
    value={"type": "string"},
    valueFrom=closed(["secretKeyRef"], secretKeyRef=KEY_REFERENCE),
)
SPIN_APP = closed(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "core.spinkube.dev/v1alpha1"},
    kind={"const": "SpinApp"},
    metadata=closed(["name"], name=TEXT),
    spec=closed(
        ["image", "executor", "replicas"],
        image=TEXT,
        executor=TEXT,
        replicas={"type": "integer", "minimum": 0},
        runtimeConfig=closed(["loadFromSecret"], loadFromSecret=TEXT),
        variables={"type": "array", "items": VARIABLE},
        checks=closed([], liveness=PROBE, readiness=PROBE),
        resources=closed([], requests=AMOUNTS, limits=AMOUNTS),
    ),
)

# The least Deployment that a patch can be for.
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "reprise"},
    "spec": {
        "selector": {"matchLabels": {"app": "reprise"}},
        "template": {"metadata": {"labels": {"app": "reprise"}}},
    },
}


def patched(base, patch):
    """`base` with the members of `patch`, within each other."""
    if not isinstance(base, dict) or not isinstance(patch, dict):
        return patch
    return base | {name: patched(base.get(name), value) for name, value in patch.items()}


def main(folder):
    files = sorted(pathlib.Path(folder).glob("*.yaml"))
    if not files:
        sys.exit(f"no manifest in {folder}")
    for file in files:
        for manifest in yaml.safe_load_all(file.read_text()):
            if "kind" not in manifest:
                manifest = patched(DEPLOYMENT, manifest)
            if manifest["kind"] == "SpinApp":
                jsonschema.validate(manifest, SPIN_APP)
            else:
                kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
            print(f"{file.name}: {manifest['kind']} is valid")


main(*sys.argv[1:])
