"""The style sheets of all drawings, for light and dark schemes.

A page with drawings has COLOURS and RULES in its style sheet, and defines the colours ground, text,
muted, line and bad itself. A drawing in a file of its own contains ALONE.
"""

from __future__ import annotations

COLOURS = """
:root {
  --send: #2f6fd0; --read: #138a7e; --wait: #b9dcd7; --txn: #8250c4; --other: #9aa4af;
  --info: #e09a00; --fail: #d6303f; --band: #e2762a; --grid: #e6e9ed;
}
@media (prefers-color-scheme: dark) {
  :root {
    --send: #6ea3f5; --read: #43bfb1; --wait: #21514c; --txn: #b691ee; --other: #6c7682;
    --info: #f0b432; --fail: #ff6b76; --band: #e88a48; --grid: #262d35;
  }
}
"""
RULES = """
svg { display: block; width: 100%; min-width: 700px; height: auto; }
svg text { fill: var(--text); font-size: 12px; font-family: inherit; }
svg .tick { fill: var(--muted); font-size: 11.5px; }
svg .faultname { font-size: 11px; font-weight: 600; pointer-events: none; }
svg .said { font-size: 12px; paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
svg .axis { stroke: var(--muted); stroke-width: 1; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .band { fill: var(--band); opacity: 0.15; }
svg .fault { fill: color-mix(in srgb, var(--band) 30%, var(--ground)); stroke: var(--band);
  stroke-width: 1; rx: 3px; }
svg .final { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; }
svg .send { fill: var(--send); } svg .read { fill: var(--read); } svg .wait { fill: var(--wait); }
svg .txn { fill: var(--txn); } svg .other { fill: var(--other); }
svg rect.fail { fill: var(--fail); } svg rect.info { fill: var(--info); }
svg rect.open { opacity: 0.65; stroke: var(--info); stroke-dasharray: 4 2; }
svg .proof { fill: none; stroke: var(--bad); stroke-width: 2; rx: 2px; pointer-events: all; }
svg .mark { fill: var(--bad); }
svg path.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg path.line.send, svg .dot.send { stroke: var(--send); } svg path.line.read,
svg .dot.read { stroke: var(--read); }
svg path.line.txn, svg .dot.txn { stroke: var(--txn); }
svg .dot { fill: var(--ground); stroke-width: 1.5; }
svg path.p99, svg path.dashed { stroke-dasharray: 5 3; stroke-width: 1.4; }
svg .hover { fill: transparent; }
svg .words { font-size: 12px; font-family: ui-monospace, Menlo, Consolas, monospace; }
svg .bold { font-weight: 700; }
svg rect.tail { fill: none; stroke: var(--info); stroke-width: 1.2; stroke-dasharray: 4 3; }
svg rect.unknown { fill: none; stroke: var(--info); stroke-width: 1.6; stroke-dasharray: 4 2; }
svg .arrow { fill: none; stroke: var(--bad); stroke-width: 1.5; }
svg .head { fill: var(--bad); }
svg rect.cell { fill: color-mix(in srgb, var(--send) 12%, var(--ground)); }
svg rect.cell.twice { fill: color-mix(in srgb, var(--info) 35%, var(--ground)); }
svg rect.cell.differs { fill: color-mix(in srgb, var(--fail) 35%, var(--ground)); }
svg rect.cell.gone { fill: none; stroke: var(--bad); stroke-dasharray: 3 2; }
svg rect.ground { fill: var(--ground); }
"""
PAPER = """
:root { --ground: #ffffff; --text: #1c2128; --muted: #59636e; --line: #d9dde3; --bad: #b3182b; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181d; --text: #e4e9ef; --muted: #9ca7b3; --line: #363e48; --bad: #ff939c; }
}
"""
ALONE = PAPER + COLOURS + RULES
