"""Build the documentation site: the pages of docs/, and a reference that is generated from the
code.

`python -m ci.docs [OUT]` builds it with MkDocs Material in strict mode: a warning is an error.
MkDocs has its own environment (requirements-docs.lock), since nothing else needs it.
"""
