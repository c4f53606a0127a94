"""Embed a drawing of porcupine in a page: draw it when it becomes visible, scrolled to where the
order breaks.

The drawing measures its texts to make boxes wide enough for them. In a hidden frame (the report
folds it away) every text has width zero, and the labels would overlap.
"""

from __future__ import annotations

DRAWS = "render(data)\n"
"""The last statement of porcupine's page."""
SCRIPT = """<script>
function whenSeen(act) {
  const seen = document.querySelector("#legend text").getBoundingClientRect().width > 0;
  if (seen) act();
  else setTimeout(() => whenSeen(act), 100);
}
function jump() {
  const scroll = Element.prototype.scrollIntoView;
  Element.prototype.scrollIntoView = function () {
    scroll.call(this, {inline: "center", block: "center"});
  };
  document.getElementById("jump-link")?.dispatchEvent(new MouseEvent("click"));
}
</script>"""


def embedded(page: str) -> str:
    """Return the page adapted for a frame, or unchanged if porcupine did not draw it."""
    before, draws, after = page.rpartition(DRAWS)
    if not draws:
        return page
    begin, body, rest = before.partition("<body>")
    seen = "whenSeen(() => { render(data); jump(); })\n"
    return f"{begin}{body}{SCRIPT}{rest}{seen}{after}"
