// Appended to a report by test_causes.py: works with the timeline as a reader does, and says what it saw.
addEventListener("load", () => {
  const box = document.querySelector(".zoom");
  const bars = () => box.querySelectorAll("svg g.zoomed rect").length;
  const ticks = () => [...box.querySelector("svg").querySelectorAll("g.zoomed text")].map((t) => t.textContent);
  const press = (name) => box.querySelector(`button[name=${name}]`).click();
  const seen = { whole: box.dataset.to, disabled: [...box.querySelectorAll("button:disabled")].map((b) => b.name) };
  document.querySelector("details.anomaly a.to-timeline").click();
  seen.anomaly = [box.dataset.from, box.dataset.to].map(Number);
  seen.bars = bars(); seen.ticks = ticks(); seen.said = box.querySelector(".span").textContent;
  press("in"); seen.closer = box.dataset.to - box.dataset.from;
  press("later"); seen.later = Number(box.dataset.from);
  press("back"); press("back"); seen.back = [box.dataset.from, box.dataset.to].map(Number);
  const svg = box.querySelector("svg"); const frame = svg.getBoundingClientRect();
  const at = (x) => frame.left + (x / 1000) * frame.width;
  const point = (type, x, on) => on.dispatchEvent(new PointerEvent(type, { clientX: at(x), bubbles: true }));
  press("all");
  point("pointerdown", 96, svg); point("pointermove", 300, window); point("pointerup", 542, window);
  seen.dragged = [box.dataset.from, box.dataset.to].map(Number);
  for (let n = 0; n < 40; n++) press("in");
  seen.closest = box.dataset.to - box.dataset.from;
  press("all"); seen.all = [box.dataset.from, box.dataset.to].map(Number); seen.left_over = bars();
  const out = document.createElement("p"); out.id = "clicked"; out.textContent = JSON.stringify(seen);
  document.querySelector("main").append(out);
});
