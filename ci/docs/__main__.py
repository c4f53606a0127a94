"""Build the documentation site: python -m ci.docs [OUT]"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

from ci import places
from ci.docs.site import stage
from ci.tools.step import Step, StepFailed, run_logged

LOCK = places.ROOT / "requirements-docs.lock"
CONFIG = Path(__file__).with_name("mkdocs.yml")
HOME = places.CACHE / "docs"
SITE = places.ROOT / "site"


def _make() -> None:
    venv.create(HOME, with_pip=True, clear=True)
    install = ("install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", str(LOCK))
    run_logged("docs", [str(HOME / "bin" / "pip"), *install])


STEP = Step("docs", (LOCK,), HOME / "bin" / "mkdocs", _make)


def build(out: Path) -> None:
    """Build the site into `out`, after installing MkDocs if it is missing or its lock file has
    changed. Raise StepFailed if MkDocs cannot be installed, or reports an error or a warning."""
    STEP.perform()
    sources = places.CACHE / "docs-sources"
    shutil.rmtree(sources, ignore_errors=True)
    stage(sources)
    config = sources.with_suffix(".yml")
    told = CONFIG.read_text(encoding="utf-8")
    own: dict[str, object] = {"docs_dir": sources, "site_dir": out.resolve()}
    own["copyright"] = f"Touchstone {version('touchstone-kafka')}"
    lines = "".join(f"{key}: {json.dumps(str(value))}\n" for key, value in own.items())
    config.write_text(lines + told, encoding="utf-8")
    done = subprocess.run(
        [str(STEP.output), "build", "--strict", "--quiet", "--config-file", str(config)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise StepFailed(f"mkdocs: {(done.stderr or done.stdout).strip()}")


def main() -> int:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    try:
        build(out)
    except StepFailed as failure:
        print(f"docs: {failure}", file=sys.stderr)
        return 2
    print(out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
