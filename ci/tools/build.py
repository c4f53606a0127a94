"""Brings into .cache what Python packages cannot: `python -m ci.tools.build`, run by `make setup`.

A component that cannot be had never stops set-up: the line says why, `touchstone doctor` says what
is lost without it, and everything else goes on.
"""

import fcntl
from concurrent.futures import ThreadPoolExecutor

from ci import places
from ci.tools import golang, jvm, native, node
from ci.tools.step import Step, StepFailed


def perform_all(lane: list[Step]) -> None:
    """One after another, a line each; steps already done are not worth a line."""
    for step in lane:
        try:
            word = step.perform()
        except StepFailed as failure:
            word = f"not available: {failure}"
        if word != "ready":
            print(f"setup: {step.name}: {word}", flush=True)


def main() -> None:
    """Compiling keeps the processor busy, Maven and npm the network: two lanes side by side."""
    places.PROGRAMS.mkdir(parents=True, exist_ok=True)
    with (places.CACHE / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lanes = [[*native.steps(), *golang.steps()], [*jvm.steps(), *node.steps()]]
        missing = [step.name for lane in lanes for step in lane if not step.is_done()]
        if missing:
            print(f"setup: bringing {', '.join(missing)} into .cache", flush=True)
        with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
            list(pool.map(perform_all, lanes))


if __name__ == "__main__":
    main()
