"""Porcupine's drawing in a frame that is folded away at first: its labels fit into their boxes."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path

import pytest

from ci.report.browser import open_page
from ci.report.embedded import embedded
from linearizability.porcupy import LogKind, OperationsBuilder, check

FOLDED = """<details><summary>drawing</summary><iframe style="width: 1000px" srcdoc="{}"></iframe>
</details><pre id="found"></pre><script>
addEventListener("load", () => setTimeout(look, 500));
function look() {{
  const frame = document.querySelector("iframe");
  const boxes = frame.contentDocument.querySelectorAll("#canvas .history-text");
  const open = document.querySelector("details").open;
  if (open && boxes.length) {{
    const width = (node) => node.getBoundingClientRect().width;
    document.getElementById("found").textContent = JSON.stringify([...boxes].map((text) => [
      text.textContent, width(text), width(text.previousElementSibling)]));
    return;
  }}
  document.getElementById("found").textContent = boxes.length ? "too early" : "";
  document.querySelector("details").open = true;
  setTimeout(look, 100);
}}
</script>"""


@pytest.mark.needs("chromium", "porcupine")
def test_labels_fit_into_their_boxes_and_say_more_to_whoever_points(tmp_path: Path) -> None:
    builder = OperationsBuilder()
    for number, offset in enumerate((7, 3)):
        builder.add(
            20 * number,
            20 * number + 10,
            LogKind.APPEND,
            client=number,
            c=offset,
            vals=[number],
            label=f"operation {number} with a label\nall <about> operation {number}",
        )
    drawn = tmp_path / "log.html"
    check("partition_log", builder.build(), html=drawn)
    text = drawn.read_text()
    assert text.count('"Description":"operation 0 with a label"') == 1
    assert text.count("about\\u0026gt; operation 1") == 1  # as text, not as an element
    page = tmp_path / "page.html"
    page.write_text(FOLDED.format(escape(embedded(text), quote=True)))
    dom, _ = open_page(page, "--dump-dom", "--virtual-time-budget=8000")
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert found
    boxes = json.loads(unescape(found[1]))
    assert [label for label, _, _ in boxes] == [f"operation {n} with a label" for n in (0, 1)]
    for label, text_width, box_width in boxes:
        assert 0 < text_width < box_width, label


def test_what_porcupine_did_not_draw_is_left_alone() -> None:
    assert embedded("<body><p>drawn</p></body>") == "<body><p>drawn</p></body>"
