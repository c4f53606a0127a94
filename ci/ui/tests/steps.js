// Appended to the page of runs by test_browser.py: works with it as a reader does, and says what it saw.
(async () => {
  const words = (node) => (node ? node.textContent.replace(/\s+/g, " ").trim() : "");
  const all = (css) => [...document.querySelectorAll(css)];
  const settle = () => new Promise((done) => setTimeout(done, 20));
  const go = async (hash) => { location.hash = hash; await settle(); await settle(); };
  const type = async (name, value) => {
    const control = filters.elements[name];
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    await settle();
  };
  const press = async (key) => {
    (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await settle();
  };
  const rows = () => all("#view tbody tr").map((row) => [...row.children].map(words));
  const said = () => words(document.getElementById("found"));
  const seen = {};
  await settle();
  seen.first = { said: said(), rows: rows().length, more: words(document.getElementById("more")) };
  document.getElementById("more").click();
  seen.all_rows = rows().length;

  await type("target", "reference");
  await type("verdict", "invalid");
  seen.filtered = { said: said(), hash: location.hash, rows: rows(), reports: all("a.open").map((a) => a.getAttribute("href")) };
  await type("from", "2026-01-03");
  await type("to", "2026-01-05");
  seen.by_date = { said: said(), days: rows().map((row) => row[2].slice(0, 10)) };
  await type("text", "no such word");
  seen.none = { said: said(), text: words(document.getElementById("view")) };
  filters.reset();
  await settle();
  seen.cleared = said();

  await go("#runs");
  document.body.focus();
  await press("j");
  await press("x");
  await press("j");
  await press("x");
  seen.keys = { chosen: words(document.getElementById("compare")), focus: document.activeElement.className };
  await press("c");
  seen.compared_by_keys = location.hash;
  await press("/");

  await go("#scenarios");
  seen.scenarios = rows();
  await go(all("#view a.open")[0].getAttribute("href"));
  seen.scenario = { heading: words(document.querySelector("#view h1")), rows: rows(), charts: all(".chart").length, dots: all(".chart circle").length };

  const pair = runs.filter((run) => run.scenario === data.flaky[0] && run.seed === "12").map((run) => run.path);
  await go(address("compare", { run: pair }));
  seen.compare = { rows: rows(), differs: all("#view tr.differs").map((row) => words(row.firstChild)), links: all("#view a").map((a) => a.getAttribute("href")) };
  await go("#compare?run=nothing");
  seen.unknown_run = words(document.querySelector(".problem"));
  await go("#versus");
  seen.versus = { said: said(), head: all("#view thead th").map(words), rows: rows() };
  const b = document.querySelector("[name=b]");
  b.value = "kfake";
  b.dispatchEvent(new Event("change"));
  await settle(); await settle();
  seen.versus_chosen = { hash: location.hash, head: all("#view thead th").map(words), link: all("#view tbody a")[0].getAttribute("href") };
  await go("#conformance");
  seen.conformance = { said: said(), rows: rows(), failures: all("#view details").map(words), headers: all("#view th:not([scope])").length };
  await go("#no-such-view");
  seen.fallback = said();
  seen.unread = all(".unread li").map(words);
  seen.badges = all(".badges img").length;
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
})().catch((error) => {
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify({ error: String(error), stack: String(error.stack) });
  document.body.append(out);
});
