"""Porcupine's drawing inside a page: drawn once it is seen, and opened where the order breaks.

The drawing measures its texts to make boxes wide enough for them. In a frame that is not shown yet
(the report folds it away) every text measures nothing, and the labels would lie on each other.
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
    """Return the page for a frame; a page that is not porcupine's stays as it is."""
    before, draws, after = page.rpartition(DRAWS)
    if not draws:
        return page
    begin, body, rest = before.partition("<body>")
    seen = "whenSeen(() => { render(data); jump(); })\n"
    return f"{begin}{body}{SCRIPT}{rest}{seen}{after}"
