"""Convert results to JUnit XML, for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot contain."""
_PROPERTIES = ("id", "priority", "api", "spec", "requirement")


def as_junit(results: Mapping[str, Any]) -> str:
    """Return JUnit XML for the mapping of `Results.as_dict`: one test case per result."""
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _clean(f"touchstone conform {results['target']}"),
            "tests": str(len(results["cases"])),
            "failures": str(results["failed"]),
            "errors": "0",
            "skipped": str(results["unsupported"]),
            "time": f"{results['seconds']:.3f}",
        },
    )
    for entry in results["cases"]:
        suite.append(_test_case(entry))
    if results["ended"]:
        said = ElementTree.SubElement(suite, "system-err")
        said.text = _clean(f"{results['ended']}; {results['not_run']} cases were not run")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode")


def _test_case(entry: Mapping[str, Any]) -> ElementTree.Element:
    path, _, name = entry["nodeid"].partition("::")
    found = ElementTree.Element(
        "testcase",
        {
            "classname": _clean(path.removesuffix(".py").replace("/", ".")),
            "name": _clean(name),
            "time": f"{entry['seconds']:.3f}",
        },
    )
    properties = ElementTree.SubElement(found, "properties")
    for key in _PROPERTIES:
        name = "case" if key == "id" else key
        value = _clean(str(entry[key]))
        ElementTree.SubElement(properties, "property", {"name": name, "value": value})
    if entry["result"] == "failed":
        failure = ElementTree.SubElement(
            found,
            "failure",
            {"message": _clean(f"expected {entry['expected']}, actual {entry['actual']}")},
        )
        failure.text = _clean(
            "\n".join(
                f"{label} {entry[key]}"
                for label, key in (
                    ("MUST:     ", "requirement"),
                    ("spec:     ", "spec"),
                    ("expected: ", "expected"),
                    ("actual:   ", "actual"),
                    ("reproduce:", "reproduce"),
                )
            )
        )
    elif entry["result"] == "unsupported":
        ElementTree.SubElement(found, "skipped", {"message": _clean(str(entry["actual"]))})
    return found


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
