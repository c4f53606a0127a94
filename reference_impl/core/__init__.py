"""The broker as a pure state machine: step(event) -> effects. See reference_impl/README.md."""
