"""The documentation site: the pages of docs/, and a reference that is written from the code.

`python -m ci.docs [OUT]` builds it with MkDocs Material, strictly: a warning is an error. MkDocs
has an environment of its own (requirements-docs.lock), since nothing else needs it.
"""
