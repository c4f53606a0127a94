// The figures of a run share one axis of time: a stretch of it can be drawn across their whole width.
// Operations are then drawn one by one, from the data beside the figures, while they are few enough.
"use strict";
for (const box of document.querySelectorAll(".zoom")) zoomable(box);

function zoomable(box) {
  const [left, width, length] = ["left", "width", "seconds"].map((name) => Number(box.dataset[name]));
  const right = left + width;
  const NS = box.querySelector("figure svg").namespaceURI;
  const holder = box.querySelector("script.operations");
  const operations = holder ? JSON.parse(holder.textContent) : null;
  const figures = [...box.querySelectorAll("figure svg")].map(prepared);
  const said = box.querySelector(".span");
  let from = 0;
  let to = length;
  let before = [];

  const second = (x) => from + ((x - left) / width) * (to - from);
  const pixel = (s) => left + ((s - from) / (to - from)) * width;
  const original = (x) => ((x - left) / width) * length;
  const make = (name, attributes, title) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (title) made.append(Object.assign(document.createElementNS(NS, "title"), { textContent: title }));
    return made;
  };

  // Remember where each part of a figure was drawn, and clip what leaves the plot.
  function prepared(svg, n) {
    const [, , across, high] = svg.getAttribute("viewBox").split(" ").map(Number);
    const clip = document.createElementNS(NS, "clipPath");
    clip.id = `${box.id}-clip-${n}`;
    const inside = document.createElementNS(NS, "rect");
    for (const [key, value] of [["x", left], ["y", 0], ["width", width], ["height", high]]) inside.setAttribute(key, value);
    clip.append(inside);
    const parts = [];
    for (const node of svg.querySelectorAll("rect, line, text, circle, path")) {
      const name = node.tagName;
      const value = (key) => Number(node.getAttribute(key));
      if (name === "rect") parts.push({ node, kind: "rect", x: value("x"), w: value("width"), bar: /^(send|read|wait|txn|other) /.test(node.getAttribute("class")) });
      else if (name === "line" && value("x1") === value("x2")) parts.push({ node, kind: node.classList.contains("axis") ? "tick" : "line", x: value("x1") });
      else if (name === "text" && value("x") >= left) parts.push({ node, kind: node.classList.contains("tick") && node.getAttribute("text-anchor") === "middle" ? "tick" : "text", x: value("x") });
      else if (name === "circle") parts.push({ node, kind: "circle", x: value("cx") });
      else if (name === "path" && node.classList.contains("mark")) parts.push({ node, kind: "mark", x: Number(/M([\d.]+)/.exec(node.getAttribute("d"))[1]) + 4 });
      else if (name === "path") parts.push({ node, kind: "path" });
    }
    svg.prepend(clip);
    const own = document.createElementNS(NS, "g");
    own.setAttribute("class", "zoomed");
    svg.append(own);
    const axis = [...svg.querySelectorAll("line.axis")].find((node) => node.getAttribute("y1") === node.getAttribute("y2"));
    svg.addEventListener("pointerdown", (event) => drag(svg, event, across));
    svg.addEventListener("dblclick", () => show(0, length));
    return { svg, parts, own, bottom: axis ? Number(axis.getAttribute("y1")) : high - 22, clip: clip.id, high };
  }

  function move(part, whole) {
    const { node, kind } = part;
    if (kind === "tick" || (part.bar && operations)) { node.style.display = whole ? "" : "none"; return; }
    if (kind === "path") {
      const k = length / (to - from);
      const shift = left - k * (left + (from / length) * width);
      node.setAttribute("transform", whole ? "" : `matrix(${k} 0 0 1 ${shift} 0)`);
      node.setAttribute("vector-effect", "non-scaling-stroke");
      return;
    }
    const x = pixel(original(part.x));
    if (kind === "rect") {
      const end = Math.min(pixel(original(part.x + part.w)), right);
      const start = Math.max(x, left);
      const gone = end < left || start > right;
      node.style.display = gone ? "none" : "";
      if (!gone) { node.setAttribute("x", whole ? part.x : start); node.setAttribute("width", whole ? part.w : Math.max(end - start, 0.8)); }
      return;
    }
    node.style.display = x < left - 0.5 || x > right + 0.5 ? "none" : "";
    if (kind === "line") for (const key of ["x1", "x2"]) node.setAttribute(key, x);
    else if (kind === "mark") node.setAttribute("transform", `translate(${x - part.x} 0)`);
    else node.setAttribute(kind === "circle" ? "cx" : "x", x);
  }

  function axis_of(figure) {
    const span = to - from;
    const power = 10 ** Math.floor(Math.log10(span / 8));
    const step = [1, 2, 5, 10, 20].map((m) => m * power).find((one) => span / one <= 9);
    const places = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9; n++) {
      const x = pixel(n * step);
      figure.own.append(make("line", { x1: x, x2: x, y1: figure.bottom, y2: figure.bottom + 4, class: "axis" }));
      const label = make("text", { x, y: figure.bottom + 16, class: "tick", "text-anchor": "middle" });
      label.textContent = `${(n * step).toFixed(places)}${(n + 1) * step > to ? " s" : ""}`;
      figure.own.append(label);
    }
  }

  // Bars of the operations in view; neighbours of one kind and outcome no half pixel apart are one.
  function bars_of(figure) {
    const apart = (0.5 / width) * (to - from);
    for (const lane of operations.lanes) {
      let open = null;
      const close = () => {
        if (!open) return;
        const x = Math.max(pixel(open.start), left);
        const until = Math.min(pixel(open.end), right);
        const what = open.count > 1 ? `${open.count} operations` : `operation ${open.id}`;
        figure.own.append(make("rect", { x, y: lane.top, width: Math.max(until - x, 0.8), height: lane.height, class: open.css },
          `${lane.name}: ${what}, ${open.css}, ${open.start.toFixed(4)} – ${open.end.toFixed(4)} s`));
        open = null;
      };
      let start = 0;
      let id = 0;
      for (let n = 0; n < lane.flat.length; n += 4) {
        start += lane.flat[n + 1] / 1e4;
        id += lane.flat[n];
        const end = start + lane.flat[n + 2] / 1e4;
        if (end < from || start > to) continue;
        const css = operations.kinds[lane.flat[n + 3]];
        if (open && open.css === css && start <= open.end + apart) { open.end = Math.max(open.end, end); open.count += 1; continue; }
        close();
        open = { id, start, end, css, count: 1 };
      }
      close();
    }
  }

  function show(start, end, remember = true) {
    const least = length / 20000;
    if (end - start < least) [start, end] = [(start + end - least) / 2, (start + end + least) / 2];
    if (remember) before.push([from, to]);
    [from, to] = [Math.max(0, start), Math.min(length, end)];
    const whole = from <= 0 && to >= length;
    figures.forEach((figure, n) => {
      figure.own.replaceChildren();
      for (const part of figure.parts) move(part, whole);
      for (const part of figure.parts) if (part.kind === "path" && !part.node.parentNode.matches("g.clipped")) {
        const group = make("g", { class: "clipped", "clip-path": `url(#${figure.clip})` });
        part.node.replaceWith(group);
        group.append(part.node);
      }
      if (whole) return;
      axis_of(figure);
      if (operations && n === 0) bars_of(figure);
    });
    // Frames of proofs stay above the bars.
    for (const proof of box.querySelectorAll("svg > a")) proof.parentNode.append(proof);
    const whose = whole ? "the whole run" : `${from.toFixed(3)} – ${to.toFixed(3)} s`;
    said.textContent = `Shown: ${whose}`;
    box.dataset.from = from;
    box.dataset.to = to;
    for (const button of box.querySelectorAll("button")) button.disabled = whole && !["in", "back"].includes(button.name);
    box.querySelector("[name=back]").disabled = !before.length;
  }

  // Dragging across a figure chooses a stretch.
  function drag(svg, event, across) {
    if (event.button || event.target.closest("a")) return;
    const frame = svg.getBoundingClientRect();
    const at = (pointer) => Math.min(Math.max(((pointer.clientX - frame.left) / frame.width) * across, left), right);
    const start = at(event);
    const mark = svg.appendChild(make("rect", { x: start, y: 0, width: 0, height: "100%", class: "chosen" }));
    const moved = (pointer) => { mark.setAttribute("x", Math.min(start, at(pointer))); mark.setAttribute("width", Math.abs(at(pointer) - start)); };
    const ended = (pointer) => {
      removeEventListener("pointermove", moved);
      removeEventListener("pointerup", ended);
      mark.remove();
      const [a, b] = [start, at(pointer)].sort((one, other) => one - other);
      if (b - a > 4) show(second(a), second(b));
    };
    addEventListener("pointermove", moved);
    addEventListener("pointerup", ended);
  }

  const span = () => to - from;
  const actions = {
    in: () => show(from + span() / 4, to - span() / 4), out: () => show(from - span() / 2, to + span() / 2),
    earlier: () => show(Math.max(from - span() / 2, 0), Math.max(from - span() / 2, 0) + span()),
    later: () => show(Math.min(to + span() / 2, length) - span(), Math.min(to + span() / 2, length)),
    all: () => show(0, length), back: () => { const last = before.pop(); if (last) show(...last, false); },
  };
  for (const button of box.querySelectorAll("button")) button.addEventListener("click", () => actions[button.name]());
  for (const link of document.querySelectorAll(`a.to-timeline[href="#${box.dataset.anchor}"]`)) {
    link.addEventListener("click", () => {
      const [start, end] = [Number(link.dataset.from), Number(link.dataset.to)];
      const around = Math.max((end - start) * 0.5, length / 100);
      show(start - around, end + around);
    });
  }
  box.querySelector(".controls").hidden = false;
  show(0, length, false);
}
