"""The owner's commands: one that hangs is ended, with all that it started, and named."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chaos.targets.foreign import commands
from chaos.targets.foreign.client_table import TokenByCommand
from chaos.values.protocols import TargetError


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo $$ > pid; sleep 600; true", "did not end within 0 s; correct it"),
        ("sleep 600 & echo $! > pid; wait", "did not end within 0 s; correct it"),
        ("sleep 2 & echo $$ > pid", "ended, but what it started holds its output still after 0 s"),
    ],
)
def test_a_command_that_hangs_is_named_and_leaves_no_process(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "COMMAND_TIMEOUT_S", 0.4)
    with pytest.raises(TargetError, match=said):
        commands.run(["sh", "-c", script], tmp_path)
    pid = (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} runs on"
        time.sleep(0.01)


def test_the_output_of_a_command_without_fault_is_returned(tmp_path: Path) -> None:
    assert commands.output_of(["sh", "-c", "pwd; echo why >&2"], tmp_path) == str(tmp_path)
    with pytest.raises(TargetError, match="ended with status 3: why; correct it"):
        commands.output_of(["sh", "-c", "echo secret; echo why >&2; exit 3"], tmp_path)


def test_a_token_command_that_fails_is_told_with_its_key(tmp_path: Path) -> None:
    token = TokenByCommand(("sh", "-c", "echo the vault is sealed >&2; exit 3"), tmp_path)
    with pytest.raises(TargetError, match=r"^client: sasl.oauthbearer.token.command: the command"):
        token()
