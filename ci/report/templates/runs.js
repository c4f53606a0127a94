// The list of runs, its filters and comparisons. The address says what is shown: #view?key=value.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.rows.map((row) => Object.fromEntries(data.fields.map((name, n) => [name, row[n]])));
const by_path = new Map(runs.map((run) => [run.path, run]));
const flaky = new Set(data.flaky);
const view = document.getElementById("view");
const filters = document.getElementById("filters");
const SYMBOLS = { valid: ["✓", "good"], invalid: ["✗", "bad"], unknown: ["?", "unknown"], "not judged": ["?", "unknown"] };
const VERDICTS = Object.keys(SYMBOLS);
const ROWS_AT_ONCE = 200;
const NIGHTS_SHOWN = 30;
const chosen = new Set();

// Make an element; a child that is a string becomes text, never markup.
function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}
function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const badge = (verdict, word) => {
  const [symbol, tone] = SYMBOLS[verdict] || ["–", "none"];
  return el("span", { class: `badge ${tone}` }, el("span", { class: "symbol", "aria-hidden": "true" }, symbol), word || verdict);
};
const when = (time) => time.slice(0, 16).replace("T", " ");
const number = (value) => (value == null ? "" : Math.round(value * 1000) / 1000).toLocaleString("en");
const address = (name, values) => {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(values || {})) for (const one of [value].flat()) if (one) words.append(key, one);
  return `#${name}${words.size ? `?${words}` : ""}`;
};
const link = (to, words, more) => el("a", { href: to, ...more }, words);
const scroll = (label, inside) => el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, inside);
const head = (...names) => el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name))));
const unique = (values) => [...new Set(values)].filter(Boolean).sort();

// Where a run is looked at: its report, or, if it has none, what is known of it.
const details = (run) => address("compare", { run: run.path });
const title_of = (run) => `${when(run.started)} ${run.target || run.path} ${run.workload} ${run.nemesis}`.trim();

// --- the list -------------------------------------------------------------------------------------
const FILTERS = { target: (run) => run.target, workload: (run) => run.workload, nemesis: (run) => run.nemesis, verdict: (run) => run.verdict };

function passes(run, wanted) {
  for (const [name, value_of] of Object.entries(FILTERS)) if (wanted.get(name) && value_of(run) !== wanted.get(name)) return false;
  const day = run.started.slice(0, 10);
  if (wanted.get("from") && day < wanted.get("from")) return false;
  if (wanted.get("to") && day > wanted.get("to")) return false;
  if (wanted.get("scenario") && run.scenario !== wanted.get("scenario")) return false;
  if (wanted.get("version") && version_of(run) !== wanted.get("version")) return false;
  if (wanted.get("commit") && run.commit !== wanted.get("commit")) return false;
  const all = `${run.path} ${run.scenario} ${run.verdict} ${run.why} ${run.commit} ${run.target_version} seed ${run.seed}`.toLowerCase();
  return (wanted.get("text") || "").toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
const version_of = (run) => `${run.target} ${run.target_version}`.trim();

function choice(run, redraw) {
  const box = el("input", { type: "checkbox", "aria-label": `Compare ${title_of(run)}`, onchange: () => {
    if (box.checked) chosen.add(run.path); else chosen.delete(run.path);
    redraw();
  } });
  box.checked = chosen.has(run.path);
  return box;
}

function row_of(run, redraw) {
  const expected = run.expected === "invalid" && run.verdict === "invalid" ? " as expected" : "";
  return el("tr", { "data-path": run.path },
    el("td", {}, choice(run, redraw)),
    el("td", {}, badge(run.verdict, run.verdict + expected), flaky.has(run.scenario) ? " " : "", flaky.has(run.scenario) ? el("span", { class: "badge bad" }, "flaky") : ""),
    el("td", { class: "when" }, link(run.report || details(run), when(run.started) || run.path, { class: "open" })),
    el("td", { class: "what" }, link(address("scenario", { of: run.scenario }), run.scenario)),
    el("td", { class: "when" }, run.seed ? `seed ${run.seed}` : ""),
    el("td", { class: "when" }, `${number(run.seconds)} s`),
    el("td", { class: "why" }, (run.anomalies ? `${number(run.anomalies)} anomalies; ` : "") + run.why),
    el("td", {}, link(details(run), "details")));
}

function show_runs(wanted) {
  const found = runs.filter((run) => passes(run, wanted));
  const compare = el("button", { type: "button", id: "compare", onclick: () => { location.hash = address("compare", { run: [...chosen] }); } });
  const redraw = () => {
    compare.textContent = chosen.size ? `Compare ${chosen.size} chosen` : "Choose runs to compare";
    compare.disabled = chosen.size < 2;
  };
  redraw();
  const narrowed = ["scenario", "version", "commit"].filter((name) => wanted.get(name)).map((name) => `${name} ${wanted.get(name)}`).join(", ");
  const body = el("tbody", {});
  const more = el("button", { type: "button", id: "more", onclick: () => { fill(found.length); } });
  const fill = (until) => {
    body.append(...found.slice(body.children.length, until).map((run) => row_of(run, redraw)));
    more.hidden = body.children.length >= found.length;
    more.textContent = `Show the other ${number(found.length - body.children.length)}`;
  };
  fill(ROWS_AT_ONCE);
  return [
    el("p", { role: "status", id: "found" }, `${number(found.length)} of ${number(runs.length)} runs${narrowed ? `: ${narrowed}` : ""} `, compare),
    found.length
      ? scroll("Runs", el("table", { class: "list" }, head("", "Verdict", "When, UTC", "Scenario", "Seed", "Length", "Why", ""), body))
      : el("p", {}, runs.length ? "No run matches the filters. Clear a filter to see more." : "There is no run here yet; `touchstone chaos run` makes one."),
    more,
  ];
}

// --- one scenario over the nights, and all of them ------------------------------------------------
function history_of(scenario) {
  const there = runs.filter((run) => run.scenario === scenario);
  const gone = data.gone.filter((run) => run.scenario === scenario).map((run) => ({ ...run, is_gone: true, counts: {}, served: {}, seed: "", commit: run.commit.slice(0, 10) }));
  return [...there, ...gone].sort((a, b) => (a.started < b.started ? -1 : 1));
}
const cell_of = (run) => {
  const [symbol, tone] = SYMBOLS[run.verdict] || ["–", "none"];
  const words = `${when(run.started)} ${run.verdict}${run.why ? `: ${run.why}` : ""}`;
  return run.is_gone ? el("span", { class: tone, title: `${words} (deleted)` }, symbol)
    : link(run.report || details(run), symbol, { class: tone, title: words, "aria-label": words });
};
// Of a planted bug a red verdict is wanted, so it does not stand before the others.
const gravity = (scenario, last) => (flaky.has(scenario) ? 0 : last.bug ? 9 : 1 + ["invalid", "not judged", "unknown", "valid"].indexOf(last.verdict));

function show_scenarios(wanted) {
  const names = unique([...runs.filter((run) => run.target && passes(run, wanted)).map((run) => run.scenario), ...data.gone.map((run) => run.scenario)]);
  const all = names.map((name) => [name, history_of(name)]);
  all.sort((a, b) => gravity(a[0], a[1].at(-1)) - gravity(b[0], b[1].at(-1)) || (a[0] < b[0] ? -1 : 1));
  return [
    el("p", { role: "status", id: "found" }, `${number(all.length)} scenarios; flaky and invalid ones first, planted bugs last. A cell is a run, the oldest on the left. Flaky: the same seed at the same commit ended in different verdicts.`),
    scroll("Scenarios", el("table", { class: "list" }, head("Scenario", "Newest", `The last ${NIGHTS_SHOWN} runs`, "Runs"),
      el("tbody", {}, ...all.map(([name, history]) => el("tr", {},
        el("th", { scope: "row", class: "what" }, link(address("scenario", { of: name }), name, { class: "open" }), " ", flaky.has(name) ? el("span", { class: "badge bad" }, "flaky") : ""),
        el("td", {}, badge(history.at(-1).verdict)),
        el("td", {}, el("div", { class: "nights" }, ...history.slice(-NIGHTS_SHOWN).map(cell_of))),
        el("td", {}, number(history.length))))))),
  ];
}

const MEASURES = [
  ["Share of the time in which operations succeeded, %", (run) => (run.served.share == null ? null : 100 * run.served.share)],
  ["Longest time without a success, s", (run) => run.served.longest_gap_s],
  ["Records acknowledged a second", (run) => (run.counts.records_acknowledged == null || !run.seconds ? null : run.counts.records_acknowledged / run.seconds)],
];

function chart(name, history, value_of) {
  const known = history.map((run, n) => [n, value_of(run), run]).filter(([, value]) => value != null);
  if (known.length < 2) return null;
  const [width, height, pad] = [900, 90, 10];
  const highest = Math.max(...known.map(([, value]) => value), 1e-9);
  const x = (n) => pad + (n / Math.max(history.length - 1, 1)) * (width - 2 * pad);
  const y = (value) => height - pad - (value / highest) * (height - 2 * pad);
  const dots = known.map(([n, value, run]) => svg("circle", { cx: x(n), cy: y(value), r: 4, class: (SYMBOLS[run.verdict] || ["", "none"])[1] },
    svg("title", {}, `${when(run.started)}: ${number(value)}, ${run.verdict}`)));
  const path = svg("path", { class: "path", d: known.map(([n, value], k) => `${k ? "L" : "M"}${x(n)} ${y(value)}`).join("") });
  return el("figure", { class: "chart" }, el("figcaption", {}, `${name}; highest ${number(highest)}`),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${name}, over ${known.length} runs` }, path, ...dots));
}

function show_scenario(wanted) {
  const name = wanted.get("of") || "";
  const history = history_of(name);
  if (!history.length) return [el("p", {}, `No run of ${name || "this scenario"} is here. `, link("#scenarios", "All scenarios"))];
  const others = [...data.rows.length ? unique(runs.map((run) => run.scenario)) : []];
  return [
    el("h1", {}, name, " ", flaky.has(name) ? el("span", { class: "badge bad" }, "flaky") : ""),
    flaky.has(name) ? el("p", { class: "problem" }, "The same seed at the same commit ended in different verdicts.") : null,
    el("p", {}, `${number(history.length)} of all runs. `, link(address("versus", { scenario: name }), "Compare its targets"), others.length > 1 ? " · " : "", others.length > 1 ? link("#scenarios", "All scenarios") : ""),
    ...MEASURES.map(([words, value_of]) => chart(words, history, value_of)).filter(Boolean),
    scroll("Runs of this scenario", el("table", { class: "list" }, head("Verdict", "When, UTC", "Commit", "Seed", "Length", "Why"),
      el("tbody", {}, ...history.slice().reverse().map((run) => el("tr", run.is_gone ? {} : { "data-path": run.path },
        el("td", {}, badge(run.verdict)),
        el("td", { class: "when" }, run.is_gone ? `${when(run.started)} (deleted)` : link(run.report || details(run), when(run.started), { class: "open" })),
        el("td", {}, run.commit), el("td", {}, run.seed), el("td", {}, run.is_gone ? "" : `${number(run.seconds)} s`),
        el("td", { class: "why" }, run.why)))))),
  ];
}

// --- runs side by side ----------------------------------------------------------------------------
const LETTERS = { v: "valid", i: "invalid", u: "unknown", n: "not applicable" };
function opinion(text) {
  if (!text) return "did not judge";
  const [, letter, checked, anomalies] = /^(.)(\d*):?(\d*)$/.exec(text);
  return LETTERS[letter] + (checked ? `, ${number(Number(checked))} checks` : "") + (anomalies ? `, ${number(Number(anomalies))} anomalies` : "");
}
const verdict_in = (text) => (text ? text[0] : "");

function* facts_of(some) {
  const plain = (name, value_of) => [name, some.map((run) => String(value_of(run) ?? ""))];
  yield ["Run", [plain("target", (run) => run.target), plain("version of the target", (run) => run.target_version),
    plain("workload", (run) => run.workload), plain("nemesis", (run) => run.nemesis), plain("planted bug", (run) => run.bug), plain("scenario", (run) => run.what),
    plain("seed", (run) => run.seed), plain("seconds of attack", (run) => number(run.seconds)), plain("commit of touchstone", (run) => run.commit),
    plain("started", (run) => when(run.started)), plain("judged by", (run) => run.engine), plain("why", (run) => run.why)]];
  for (const [name, key] of [["Counts", "counts"], ["Availability", "served"], ["Seconds by phase", "phases_s"]]) {
    yield [name, unique(some.flatMap((run) => Object.keys(run[key]))).map((inner) => plain(inner.replaceAll("_", " "), (run) => number(run[key][inner])))];
  }
  const names = data.checkers.map((name, n) => [name, n]).filter(([, n]) => some.some((run) => verdict_in(run.checkers[n]) && verdict_in(run.checkers[n]) !== "n"));
  yield ["Checkers", names.map(([name, n]) => [name, some.map((run) => opinion(run.checkers[n])), some.map((run) => verdict_in(run.checkers[n]))])];
}

function show_compare(wanted) {
  const asked = wanted.getAll("run");
  const some = asked.map((path) => by_path.get(path)).filter(Boolean);
  const missing = asked.filter((path) => !by_path.has(path));
  const add = el("select", { "aria-label": "Add a run", onchange: () => { location.hash = address("compare", { run: [...some.map((run) => run.path), add.value] }); } },
    el("option", { value: "" }, "Add a run…"), ...runs.slice(0, 1000).map((run) => el("option", { value: run.path }, title_of(run) + `, ${run.verdict}`)));
  const parts = [...missing.map((path) => el("p", { class: "problem" }, `${path} is not in this page.`))];
  if (!some.length) return [...parts, el("p", {}, "Choose runs in the list, or here. ", add)];
  const without = (gone) => address("compare", { run: some.filter((run) => run !== gone).map((run) => run.path) });
  parts.push(el("h1", {}, some.length > 1 ? `${some.length} runs side by side` : title_of(some[0])), el("p", {}, add));
  const columns = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, ""), ...some.map((run) => el("th", { scope: "col" }, badge(run.verdict), " ",
    run.report ? link(run.report, "report") : el("span", {}, "no report"), " ", some.length > 1 ? link(without(run), "remove", { "aria-label": `Remove ${title_of(run)}` }) : ""))));
  const rows = [];
  for (const [group, lines] of facts_of(some)) {
    if (lines.length) rows.push(el("tr", {}, el("th", { scope: "colgroup", colspan: String(some.length + 1) }, group)));
    for (const [name, values, keys] of lines) {
      const differs = new Set(keys || values).size > 1;
      rows.push(el("tr", { class: differs ? "differs" : "" }, el("th", { scope: "row" }, name), ...values.map((value) => el("td", {}, value))));
    }
  }
  parts.push(scroll("Runs side by side", el("table", { class: "side small" }, columns, el("tbody", {}, ...rows))));
  for (const run of some) {
    parts.push(el("h2", {}, some.length > 1 ? title_of(run) : "Next"));
    parts.push(el("p", {}, link(address("scenario", { of: run.scenario }), "Its scenario over the nights"), ...run.logs.flatMap((log) => [" · ", link(`${run.report.replace(/report\.html$/, "") || `${run.path}/`}${log}`, log)])));
    if (run.command) parts.push(el("p", {}, "Attack again: ", el("code", {}, run.command)));
  }
  return parts;
}

// --- targets, versions or commits side by side ----------------------------------------------------
const DIMENSIONS = { target: ["target", (run) => run.target, (run) => run.what], version: ["version of the target", version_of, (run) => run.what],
  commit: ["commit of touchstone", (run) => run.commit, (run) => run.scenario] };

function tallied(some, wanted) {
  if (!some.length) return [el("span", { class: "muted" }, "not run")];
  return VERDICTS.map((verdict) => [verdict, some.filter((run) => run.verdict === verdict).length]).filter(([, count]) => count)
    .flatMap(([verdict, count]) => [link(address("runs", { ...wanted, verdict, scenario: some[0].scenario }), badge(verdict, `${count} ${verdict}`)), " "]);
}

function show_versus(wanted) {
  const by = DIMENSIONS[wanted.get("by")] ? wanted.get("by") : "target";
  const [, value_of, what_of] = DIMENSIONS[by];
  const values = unique(runs.map(value_of));
  const scenario = wanted.get("scenario") && runs.find((run) => run.scenario === wanted.get("scenario"));
  const [first, second] = [wanted.get("a") || (scenario ? value_of(scenario) : values[0]) || "", wanted.get("b") || values.find((value) => value !== (wanted.get("a") || values[0])) || ""];
  const pick = (name, options, value) => {
    const made = el("select", { name, onchange: () => go({ [name]: made.value }) }, ...options.map(([key, words]) => el("option", { value: key }, words)));
    made.value = value;
    return made;
  };
  const go = (change) => { location.hash = address("versus", change.by ? change : { by, a: first, b: second, ...change }); };
  const sides = [first, second].map((value) => runs.filter((run) => value_of(run) === value));
  const whats = unique(sides.flat().map(what_of));
  const word = (some) => [...new Set(some.map((run) => run.verdict))].sort().join();
  const lines = whats.map((what) => [what, sides.map((side) => side.filter((run) => what_of(run) === what))]);
  const differs = ([, [a, b]]) => a.length > 0 && b.length > 0 && word(a) !== word(b);
  const only = ([, [a, b]]) => !a.length || !b.length;
  lines.sort((a, b) => differs(b) - differs(a) || only(a) - only(b) || (a[0] < b[0] ? -1 : 1));
  const filter = (value) => (by === "target" ? { target: value } : { [by]: value });
  return [
    el("form", { class: "versus", onsubmit: (event) => event.preventDefault() },
      el("p", {}, "Compare ", pick("by", Object.entries(DIMENSIONS).map(([key, [words]]) => [key, words]), by), ": ", pick("a", values.map((value) => [value, value]), first), " with ", pick("b", values.map((value) => [value, value]), second))),
    el("p", { role: "status", id: "found" }, `${lines.filter(differs).length} scenarios differ, ${lines.filter((line) => !differs(line) && !only(line)).length} are alike, ${lines.filter(only).length} were run on one side only.`),
    scroll("Side by side", el("table", { class: "side" }, head("Scenario", first || "–", second || "–"),
      el("tbody", {}, ...lines.map((line) => el("tr", { class: differs(line) ? "differs" : "" }, el("th", { scope: "row" }, line[0]),
        el("td", {}, ...tallied(line[1][0], filter(first))), el("td", {}, ...tallied(line[1][1], filter(second)))))))),
  ];
}

// --- conformance ----------------------------------------------------------------------------------
const RESULTS = { p: ["passed", "valid"], f: ["failed", "invalid"], u: ["unsupported", ""], "-": ["not run", ""] };

function show_conformance(wanted) {
  const all = data.examinations;
  if (!all.length) return [el("p", {}, "No conformance results lie among these runs; `touchstone conform --target reference --out runs/reference.json` puts some there.")];
  const [a, b] = ["a", "b"].map((key, n) => all.find((each) => each.path === wanted.get(key)) || all[Math.min(n, all.length - 1)]);
  const name = (each) => `${each.target}, ${when(each.when)}`;
  const pick = (key, value) => {
    const made = el("select", { "aria-label": `Results ${key}`, onchange: () => { location.hash = address("conformance", { a: a.path, b: b.path, [key]: made.value }); } },
      ...all.map((each) => el("option", { value: each.path }, `${name(each)}: ${each.path}`)));
    made.value = value;
    return made;
  };
  const areas = unique(all.flatMap((each) => Object.keys(each.areas)));
  const cell = (counts) => (counts ? el("td", { class: `cell ${counts[1] ? "bad" : counts[0] ? "good" : "none"}` }, `${counts[1] ? "✗" : counts[0] ? "✓" : "–"} ${counts[0]}/${counts[0] + counts[1]}`, counts[2] ? el("span", { class: "more" }, ` ${counts[2]} unsupported`) : "") : el("td", { class: "cell none" }, "not examined"));
  const differ = data.cases.map((name_of, n) => [name_of, a.cases[n], b.cases[n]]).filter(([, one, other]) => one !== other);
  const shown = all.slice(0, 8);
  return [
    scroll("Conformance by area", el("table", { class: "matrix small" }, head("Area", ...shown.map(name)),
      el("tbody", {}, ...areas.map((area) => el("tr", {}, el("th", { scope: "row" }, area), ...shown.map((each) => cell(each.areas[area]))))),
      el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "All"), ...shown.map((each) => el("td", {}, badge(each.failed ? "invalid" : each.ended || each.not_run || !each.passed ? "unknown" : "valid", `${each.passed} passed, ${each.failed} failed`), each.ended ? ` ended early: ${each.ended}` : "")))))),
    el("h2", {}, "Case by case"), el("p", {}, pick("a", a.path), " with ", pick("b", b.path)),
    el("p", { role: "status", id: "found" }, `${differ.length} of ${data.cases.length} results differ.`),
    differ.length ? scroll("Cases that differ", el("table", { class: "small" }, head("Case", name(a), name(b)), el("tbody", {}, ...differ.map(([case_name, one, other]) => el("tr", {}, el("th", { scope: "row" }, case_name),
      ...[one, other].map((letter) => el("td", {}, badge(RESULTS[letter][1], RESULTS[letter][0])))))))) : null,
    ...shown.filter((each) => each.failures.length).map((each) => el("details", {}, el("summary", {}, `Failures on ${name(each)}`), el("ul", {}, ...each.failures.map(([id, requirement, expected, actual]) =>
      el("li", {}, el("strong", {}, id), ` ${requirement} Expected `, el("code", {}, expected || "–"), ", got ", el("code", {}, actual || "–"))))))
  ];
}

// --- the address and the keys ---------------------------------------------------------------------
const VIEWS = { runs: show_runs, scenarios: show_scenarios, scenario: show_scenario, compare: show_compare, versus: show_versus, conformance: show_conformance };
const FILTERED = ["runs", "scenarios"];

function place() {
  const [name, words] = location.hash.slice(1).split("?");
  return [VIEWS[name] ? name : "runs", new URLSearchParams(words || "")];
}
function draw() {
  const [name, wanted] = place();
  for (const each of document.querySelectorAll("[data-view]")) {
    if (each.dataset.view === name || (name === "scenario" && each.dataset.view === "scenarios")) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  filters.hidden = !FILTERED.includes(name);
  for (const control of filters.elements) if (control.name && control !== document.activeElement) control.value = wanted.get(control.name) || "";
  view.replaceChildren(...VIEWS[name](wanted).filter(Boolean));
}
function filtered() {
  const [name] = place();
  const words = Object.fromEntries([...new FormData(filters)].filter(([, value]) => value));
  history.replaceState(null, "", address(name, words));
  draw();
}
for (const [name, value_of] of Object.entries(FILTERS)) {
  const values = name === "verdict" ? VERDICTS.filter((word) => runs.some((run) => run.verdict === word)) : unique(runs.map(value_of));
  filters.elements[name].append(el("option", { value: "" }, "all"), ...values.map((value) => el("option", { value }, value)));
}
filters.addEventListener("input", filtered);
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(filtered));
addEventListener("hashchange", () => { draw(); view.focus({ preventScroll: true }); scrollTo(0, 0); });
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
  const links = [...view.querySelectorAll("a.open")];
  const here = event.target.closest("tr");
  const at = links.findIndex((each) => here && here.contains(each));
  const box = here && here.querySelector("input[type=checkbox]");
  if (event.key === "/" && !filters.hidden) filters.elements.text.focus();
  else if (event.key === "j" && links.length) links[Math.min(at + 1, links.length - 1)].focus();
  else if (event.key === "k" && links.length) links[Math.max(at - 1, 0)].focus();
  else if (event.key === "x" && box) box.click();
  else if (event.key === "c" && chosen.size > 1) location.hash = address("compare", { run: [...chosen] });
  else return;
  event.preventDefault();
});
draw();
