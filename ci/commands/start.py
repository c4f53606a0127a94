"""The entry point of `touchstone`: imports the command line and runs it.

It is apart from ci.cli so that Ctrl-C while modules are imported is also one sentence: the imports
take up to a second, and longer on a busy machine.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and end the process with the documented exit status."""
    try:
        from ci.cli import main as run

        run()
    except (KeyboardInterrupt, RuntimeError) as error:
        from ci.errors import explain

        raise SystemExit(explain(error)) from None
