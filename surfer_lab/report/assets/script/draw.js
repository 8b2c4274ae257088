// Draws the figures of a report as SVG: cost against time, and throughput by batch size. Their tables stand beside them.
const SVG = "http://www.w3.org/2000/svg";
function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const BOX = { width: 680, height: 300, left: 60, right: 24, top: 24, bottom: 40 };
// As wide as the report is, so that the letters keep their size on a phone.
function frame(svg) {
  BOX.width = Math.round(Math.max(320, Math.min(680, svg.closest(".surfer").clientWidth - 8)));
  svg.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
}
const textAt = (x, y, text, kind, anchor = "start") => shape("text", { x, y, class: kind, "text-anchor": anchor }, text);
const dotAt = (x, y, kind, said) =>
  shape("circle", { cx: x, cy: y, r: 5, class: kind, tabindex: 0 }, shape("title", {}, said));
const pathOf = (points) => `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(" L")}`;

function logAxis(values, from, to) {
  const [low, high] = [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const place = (value) => from + ((to - from) * Math.log(value / low)) / Math.log(high / low);
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(power);
  const fine = Array.from({ length: 36 }, (_, at) => 1 + at / 4);
  let ticks = [];
  for (const mantissas of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], fine]) {
    ticks = powers.flatMap((power) => mantissas.map((one) => Number((one * 10 ** power).toPrecision(6))));
    ticks = ticks.filter((tick) => tick >= low && tick <= high);
    if (ticks.length >= 3) break;
  }
  const every = Math.max(1, Math.floor(ticks.length / 8));
  return { place, ticks: ticks.filter((_, at) => at % every === 0) };
}

function drawScatter(svg, outcomes, chosen, unit) {
  const points = outcomes.filter((one) => one.step > 0 && one.cost > 0);
  const front = frontOf(points);
  if (!points.length) return;
  frame(svg);
  const [right, floor] = [BOX.width - BOX.right, BOX.height - BOX.bottom];
  const x = logAxis(points.map((one) => one.step / TIME_UNITS[unit]), BOX.left, right);
  const y = logAxis(points.map((one) => one.cost), floor, BOX.top);
  const at = (one) => [x.place(one.step / TIME_UNITS[unit]), y.place(one.cost)];
  const drawn = x.ticks.flatMap((tick) => [
    shape("line", { x1: x.place(tick), x2: x.place(tick), y1: BOX.top, y2: floor, class: "s-grid" }),
    textAt(x.place(tick), floor + 16, tick.toLocaleString("en-US"), "s-tick", "middle"),
  ]);
  for (const tick of y.ticks) {
    drawn.push(shape("line", { x1: BOX.left, x2: right, y1: y.place(tick), y2: y.place(tick), class: "s-grid" }));
    drawn.push(textAt(BOX.left - 6, y.place(tick) + 4, moneyText(tick).replace(/\.00$/, ""), "s-tick", "end"));
  }
  if (front.length > 1) drawn.push(shape("path", { d: pathOf(front.map(at)), class: "s-front" }));
  const isNamed = (one) => front.includes(one) || one.row.is_origin || one.gpu === chosen;
  for (const one of [...points].sort((a, b) => isNamed(a) - isNamed(b))) {
    const kind = ["s-point", front.includes(one) && "s-on-front", one.row.is_origin && "s-origin", one.gpu === chosen && "s-chosen"];
    const said = `${one.row.gpu}: ${timeText(one.step, unit)}, ${moneyText(one.cost)} per 1,000 steps`;
    drawn.push(dotAt(...at(one), kind.filter(Boolean).join(" "), said));
  }
  drawn.push(...labelsFor(points.filter(isNamed).map((one) => [one.row.gpu, ...at(one)]), points.map(at)));
  drawn.push(textAt(4, 10, "USD per 1,000 steps", "s-tick"));
  drawn.push(textAt((BOX.width + BOX.left) / 2, BOX.height - 6, `step, ${unit} (shorter is faster)`, "s-tick", "middle"));
  svg.replaceChildren(...drawn);
}

// Names beside their points, left out where they would lie on another name or point.
function labelsFor(named, points) {
  const taken = points.map(([x, y]) => [x - 6, x + 6, y - 6, y + 6]);
  return named.flatMap(([name, x, y]) => {
    const text = name.length <= 24 ? name : `${name.slice(0, 23)}…`;
    const width = 6.4 * text.length;
    const shifts = [4, -8, 16, -20, 28];
    const places = [...shifts.map((shift) => [x + 9, y + shift]), ...shifts.map((shift) => [x - 9 - width, y + shift])];
    const free = places.find(([left, base]) => {
      const box = [left, left + width, base - 10, base + 2];
      if (left < BOX.left || box[1] > BOX.width || box[2] < 0) return false;
      return taken.every((one) => box[1] < one[0] || box[0] > one[1] || box[3] < one[2] || box[2] > one[3]);
    });
    if (!free) return [];
    taken.push([free[0], free[0] + width, free[1] - 10, free[1] + 2]);
    return [textAt(...free, text, "s-label")];
  });
}

function drawCurve(svg, points, chosenBatch) {
  const shown = points.filter((one) => isKnown(one.step));
  frame(svg);
  if (shown.length < 2) return svg.replaceChildren();
  const rate = (one, ms = one.step) => (one.batch * 1000) / ms;
  const top = 1.05 * Math.max(...shown.map((one) => rate(one, one.low)));
  const [right, floor] = [BOX.width - BOX.right, BOX.height - BOX.bottom];
  const [first, last] = [shown[0].batch, shown.at(-1).batch];
  const x = (one) => BOX.left + ((right - BOX.left) * Math.log(one.batch / first)) / Math.log(last / first);
  const y = (value) => floor - ((floor - BOX.top) * value) / top;
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const drawn = shown.map((one) => textAt(x(one), floor + 16, one.batch.toLocaleString("en-US"), "s-tick", "middle"));
  for (let tick = 0; tick <= top; tick += step) {
    drawn.push(shape("line", { x1: BOX.left, x2: right, y1: y(tick), y2: y(tick), class: "s-grid" }));
    drawn.push(textAt(BOX.left - 6, y(tick) + 4, tick.toLocaleString("en-US"), "s-tick", "end"));
  }
  const upper = shown.map((one) => [x(one), y(rate(one, one.low))]);
  const lower = shown.map((one) => [x(one), y(rate(one, one.high))]).reverse();
  drawn.push(shape("path", { d: `${pathOf([...upper, ...lower])} Z`, class: "s-band" }));
  const fitting = shown.filter((one) => one.verdict !== "does not fit");
  const beyond = shown.slice(Math.max(0, fitting.length - 1));
  for (const [line, kind] of [[fitting, "s-front"], [fitting.length < shown.length ? beyond : [], "s-front s-beyond"]])
    if (line.length > 1) drawn.push(shape("path", { d: pathOf(line.map((one) => [x(one), y(rate(one))])), class: kind }));
  for (const one of shown) {
    const kind = ["s-point", one.verdict !== "does not fit" && "s-on-front", one.batch === chosenBatch && "s-chosen"];
    const said = `batch ${one.batch}: ${significant(rate(one))} samples/s, ${timeText(one.step)} a step, ${memoryText(one.needed)}, ${one.verdict}`;
    drawn.push(dotAt(x(one), y(rate(one)), kind.filter(Boolean).join(" "), said));
  }
  drawn.push(textAt(4, 12, "samples/s", "s-tick"), textAt((BOX.width + BOX.left) / 2, BOX.height - 6, "batch size", "s-tick", "middle"));
  svg.replaceChildren(...drawn);
}
