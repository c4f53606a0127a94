"""The wheel as a stranger has it: `python -m ci.wheel` builds, installs and uses it."""
