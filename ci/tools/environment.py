"""Make .venv from requirements.lock, then start ci.tools.build; `make setup` runs this. It runs on
the machine's own Python without installed packages, so it uses the standard library only. A step is
skipped if the key over its inputs has not changed, so a second run takes a moment."""

import fcntl
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
KEY_FILE = VENV / ".touchstone-key"
LOGS = ROOT / ".cache" / "logs"
LOCK_FILE = ROOT / ".cache" / "setup.lock"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
PIP_TIMEOUT_S = 1800
PYTHON_NEEDED = (3, 11)
USAGE_OR_ENVIRONMENT_ERROR = 2


def environment_key() -> str:
    """Return a key that changes whenever .venv must be made or filled again. It includes the path,
    since installed scripts contain it."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {ROOT}".encode())
    for name in ("requirements.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def is_ready(key: str) -> bool:
    return VENV_PYTHON.exists() and KEY_FILE.is_file() and KEY_FILE.read_text() == key


def make_environment() -> None:
    """Create .venv, or keep it if its Python still runs and has the wanted version. Exit with
    status 2 if it cannot be created."""
    wanted = f"{sys.version_info[0]}.{sys.version_info[1]}"
    probe = "import sys, pip; print('%d.%d' % sys.version_info[:2])"
    if VENV_PYTHON.exists() and output_of(str(VENV_PYTHON), "-c", probe) == wanted:
        return
    log = LOGS / "venv.log"
    if run(log, sys.executable, "-m", "venv", "--clear", str(VENV)):
        return
    # Debian's python3 without python3-venv has no ensurepip; pip >= 22.3 can install itself across.
    bare = run(log, sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV))
    across = (sys.executable, *PIP, "--python", str(VENV_PYTHON), "install", "-q", "pip")
    if not (bare and run(log, *across)):
        stop("cannot create .venv; install Python's venv module (python3-venv)", log)


def install_requirements() -> None:
    """Install the locked packages with their hashes, then the project itself in editable mode. Exit
    with status 2 if pip fails."""
    log = LOGS / "pip.log"
    locked = ("install", "-q", "--require-hashes", "-r", "requirements.lock")
    if not run(log, str(VENV_PYTHON), *PIP, *locked):
        stop("pip could not install requirements.lock; check that pip reaches its index", log)
    itself = ("install", "-q", "--no-deps", "--no-build-isolation", "-e", ".")
    if not run(log, str(VENV_PYTHON), *PIP, *itself):
        stop("pip could not install the project into .venv", log)


def run(log: Path, *command: str) -> bool:
    """Run a command with its output in the log. Return whether it succeeded within the time
    limit."""
    with log.open("a") as sink:
        try:
            done = subprocess.run(
                command, cwd=ROOT, stdout=sink, stderr=subprocess.STDOUT, timeout=PIP_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            sink.write(f"gave up after {PIP_TIMEOUT_S} s\n")
            return False
    return done.returncode == 0


def output_of(*command: str) -> str:
    """Return the standard output of a command, or "" if it cannot run, so that .venv is made
    again."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def stop(sentence: str, log: Path) -> None:
    """Print the sentence with the log's last error, then exit with status 2."""
    lines = [line.strip() for line in log.read_text().splitlines() if line.strip()]
    reason = next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "")
    print(f"setup: {sentence}: {reason} (all of it: {log.relative_to(ROOT)})", file=sys.stderr)
    raise SystemExit(USAGE_OR_ENVIRONMENT_ERROR)


def main() -> None:
    if sys.version_info[:2] < PYTHON_NEEDED:
        print("setup: Python >= 3.11 is needed; make PYTHON=/path/to/python3.11", file=sys.stderr)
        raise SystemExit(USAGE_OR_ENVIRONMENT_ERROR)
    LOGS.mkdir(parents=True, exist_ok=True)
    with LOCK_FILE.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two `make` at the same time must not fill one .venv
        key = environment_key()
        if not is_ready(key):
            print("setup: .venv from requirements.lock (a few minutes the first time)", flush=True)
            started = time.monotonic()
            for old in LOGS.glob("*.log"):
                old.unlink()
            make_environment()
            install_requirements()
            KEY_FILE.write_text(key)
            print(f"setup: .venv ready after {time.monotonic() - started:.0f} s", flush=True)
    os.chdir(ROOT)
    os.execv(VENV_PYTHON, [str(VENV_PYTHON), "-m", "ci.tools.build"])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(USAGE_OR_ENVIRONMENT_ERROR) from None
