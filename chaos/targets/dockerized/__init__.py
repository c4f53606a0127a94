"""Targets in containers: `docker:apache:4.3.1`, `docker:apache:3.9`, `docker:reference`."""

from __future__ import annotations

from chaos.targets.dockerized.apache import dockerized_version
from chaos.targets.dockerized.reference import DockerizedReference
from chaos.values.protocols import Target, TargetError


def in_containers(rest: str, bug: str | None) -> Target:
    """Return the target in containers that `rest`, the text after `docker:`, names; an empty text
    means Apache Kafka. Raise TargetError for an unknown name or version, or a bug with Apache."""
    name, _, version = rest.partition(":")
    if name == "reference" and not version:
        return DockerizedReference(bug)
    if name not in ("", "apache"):
        raise TargetError(
            f"docker:{rest} is not a target; use docker:apache:4.3.1, docker:apache:3.9 or"
            " docker:reference"
        )
    if bug:
        raise TargetError(
            f"Apache Kafka has no planted bugs, so no {bug!r}; only the reference has: use"
            " `docker:reference`"
        )
    return dockerized_version(version)
