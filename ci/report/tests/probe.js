// Appended to a report by test_page.py: says, as JSON in the page, what a reader sees.
addEventListener("load", () => {
  const all = (css, from = document) => [...from.querySelectorAll(css)];
  const words = (node) => node.textContent.replace(/\s+/g, " ").trim();
  for (const part of all("details:not(.drawing)")) part.open = true;
  const colour = (text) => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = colour(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const contrast = (node) => {
    const style = getComputedStyle(node);
    const inside = node.ownerSVGElement ? style.fill : style.color;
    const [a, b] = [light(colour(inside)), light(ground(node.ownerSVGElement || node))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const texts = all("body *").filter((node) => !["SCRIPT", "STYLE", "title"].includes(node.tagName)
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  const figure = (node) => {
    const svg = node.querySelector("svg");
    const axis = svg.querySelector("line.axis").getBoundingClientRect();
    const bars = all("rect", svg).filter((bar) => /^(send|read|wait|txn|other) /.test(bar.getAttribute("class")));
    const outcomes = {};
    for (const bar of bars) {
      const outcome = bar.getAttribute("class").split(" ")[1];
      outcomes[outcome] = (outcomes[outcome] || 0) + 1;
    }
    return {
      title: words(node.querySelector("figcaption strong")),
      outcomes,
      lanes: all("text.tick[text-anchor=end]", svg).map(words).filter((name) => /[a-z] \d|faults/.test(name)),
      bands: all(".band", svg).filter((band) => band.tagName === "rect").map((band) => {
        const box = band.getBoundingClientRect();
        return {
          title: words(band.querySelector("title")), height: box.height,
          from: (box.left - axis.left) / axis.width, to: (box.right - axis.left) / axis.width,
        };
      }),
    };
  };
  const window_width = document.documentElement.clientWidth;
  const ids = all("[id]").map((node) => node.id);
  const facts = {
    text: document.querySelector("main").innerText.replace(/\s+/g, " "),
    title: document.title,
    headings: all("h1, h2").map(words),
    levels: all("h1, h2, h3, h4, h5").map((node) => Number(node.tagName[1])),
    verdicts: all(".verdicts > li").map((node) => ({
      text: words(node), badge: words(node.querySelector(".badge")),
      commands: all(".command", node).map(words),
      link: node.querySelector("a") ? node.querySelector("a").getAttribute("href") : "",
    })),
    matrix: all(".matrix tbody tr, .matrix tfoot tr").map((row) => all("th, td", row).map(words)),
    cases: all("details.case").map(words),
    anomalies: all("details.anomaly").map((node) => ({
      id: node.id, sentence: words(node.querySelector("summary")),
      rows: all("tbody tr", node).map((row) => all("th, td", row).map(words)),
      bars: all("svg rect.ok", node).length,
    })),
    proofs: all("svg a").map((node) => node.getAttribute("href")),
    figures: all("figure").map(figure),
    width: innerWidth,
    resources: performance.getEntriesByType("resource").map((entry) => entry.name),
    overflow: document.documentElement.scrollWidth - window_width,
    widest: texts.filter((node) => node.getBoundingClientRect().right > window_width
      && !node.closest(".scroll")).map((node) => words(node).slice(0, 80)).slice(0, 3),
    dead_links: all("a[href]").map((node) => node.getAttribute("href"))
      .filter((link) => !link.startsWith("#") || !document.getElementById(link.slice(1))),
    same_ids: ids.filter((id, n) => ids.indexOf(id) !== n),
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    contrast: texts.map((node) => [`${node.tagName}.${node.getAttribute("class") || ""}: ${words(node).slice(0, 40)}`, contrast(node)]),
    tables: all("table").length,
    headers_without_scope: all("th:not([scope])").length,
    images: all("img").length,
    frames: all("iframe").length,
  };
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(facts);
  document.body.append(out);
  if (parent !== window) parent.postMessage(out.outerHTML, "*");
});
