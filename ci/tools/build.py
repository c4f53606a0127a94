"""Bring into .cache the tools that pip cannot install: `touchstone setup`, and part of `make
setup`.

A component that cannot be installed never stops the set-up: its line says why, `touchstone doctor`
says what does not work without it, and the other steps continue.
"""

import fcntl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ci import places
from ci.errors import UsageError
from ci.tools import golang, jvm, native, node
from ci.tools.step import Step, StepFailed


def perform_all(lane: list[Step]) -> None:
    """Perform steps one after another and print a line for each, except for those already done."""
    for step in lane:
        try:
            word = step.perform()
        except StepFailed as failure:
            word = f"not available: {failure}"
        if word != "ready":
            print(f"setup: {step.name}: {word}", flush=True)


def bring(names: Sequence[str] = ()) -> int:
    """Bring these components, or all if none is named. Return 0 if each is there in the end, else
    2.

    Compiling keeps the processor busy, Maven and npm the network, so two lanes run in parallel.
    Raise UsageError for an unknown name.
    """
    places.PROGRAMS.mkdir(parents=True, exist_ok=True)
    with (places.CACHE / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lanes = _chosen(names, [[*native.steps(), *golang.steps()], [*jvm.steps(), *node.steps()]])
        missing = [step.name for lane in lanes for step in lane if not step.is_done()]
        if missing:
            print(f"setup: bringing {', '.join(missing)} into {_cache()}", flush=True)
        with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
            list(pool.map(perform_all, lanes))
        return 0 if all(step.is_done() for lane in lanes for step in lane) else 2


def _chosen(names: Sequence[str], lanes: list[list[Step]]) -> list[list[Step]]:
    """Return only the steps of these components, named as `touchstone doctor` lists them, or all if
    no name is given. Raise UsageError for an unknown name."""
    if not names:
        return lanes
    known = {_component(step): step for lane in lanes for step in lane}
    if unknown := sorted(set(names) - set(known)):
        raise UsageError(
            f"setup: no component {', '.join(unknown)}; choose from {', '.join(known)}"
        )
    wanted = [known[name] for name in names]
    return [[step for step in lane if step in wanted] for lane in lanes]


def _component(step: Step) -> str:
    """Return the name by which the doctor lists the component that a step installs:
    "kafka-jars-3.9.1" for "kafka 3.9.1"."""
    newest = f"kafka {places.KAFKA_VERSION}"
    if step.name == newest:
        return "kafka-jars"
    return step.name.replace("kafka ", "kafka-jars-")


def _cache() -> str:
    return places.shown(places.CACHE)


if __name__ == "__main__":
    bring()
