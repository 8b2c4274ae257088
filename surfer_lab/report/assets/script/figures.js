// Draws the figures of an exported page with Bokeh, whose script and templates stand in the page once. A choice replaces
// the data of their sources; another colour scheme draws them again. Without Bokeh the SVG stays.
const ROLES = {
  ink: "--s-fg", muted: "--s-muted", grid: "--s-line", paper: "--s-page", accent: "--s-accent", accent_soft: "--s-range",
  second: "--s-input", third: "--s-launch", warn: "--s-warn", bad: "--s-bad", good: "--s-good", idle: "--s-track",
};

const DATA = {
  step_range({ view, choice, outcomes, unit }, color) {
    const shown = view.shortlist.map((gpu) => outcomes[gpu]).filter((one) => isKnown(one.step));
    if (!shown.includes(outcomes[choice.gpu]) && isKnown(outcomes[choice.gpu]?.step)) shown.push(outcomes[choice.gpu]);
    shown.sort((a, b) => b.step - a.step);
    const scaled = (name) => shown.map((one) => one[name] / TIME_UNITS[unit]);
    const here = view.here?.is_gpu ? (view.here.step.value * TIME_UNITS[view.here.step.unit]) / TIME_UNITS[unit] : NaN;
    const fill = (one) => color(one.gpu === choice.gpu ? "second" : one.row.is_origin ? "third" : "accent");
    return {
      bars: {
        gpu: shown.map((one) => one.row.gpu),
        value: scaled("step"),
        low: scaled("low"),
        high: scaled("high"),
        text: shown.map((one) => `${timeText(one.step, unit)}, ${timeRange(one.low, one.high, unit)}`),
        color: shown.map(fill),
      },
      here: { value: isKnown(here) ? [here] : [] },
      factors: shown.map((one) => one.row.gpu),
      labels: { x_axis: `step, ${unit}` },
    };
  },
  cost_time({ choice, outcomes, unit }, color) {
    const shown = outcomes.filter((one) => one.step > 0 && one.cost > 0);
    const front = frontOf(shown);
    const time = (one) => one.step / TIME_UNITS[unit];
    const on = (one) => one.row.is_origin || front.includes(one) || one.gpu === choice.gpu;
    return {
      points: {
        x: shown.map(time),
        y: shown.map((one) => one.cost),
        gpu: shown.map((one) => one.row.gpu),
        text: shown.map((one) => `${one.row.gpu}: ${timeText(one.step, unit)}, ${moneyText(one.cost)} per 1,000 steps`),
        marker: shown.map((one) => (one.row.is_origin ? "diamond" : one.gpu === choice.gpu ? "square" : "circle")),
        color: shown.map((one) =>
          color(one.gpu === choice.gpu ? "second" : one.row.is_origin ? "third" : front.includes(one) ? "accent" : "muted"),
        ),
        size: shown.map((one) => (on(one) ? 11 : 7)),
      },
      front: { x: front.map(time), y: front.map((one) => one.cost) },
      labels: { x_axis: `step, ${unit} (shorter is faster)`, y_axis: "USD per 1,000 steps" },
    };
  },
  batch_curve({ view, grid, choice }) {
    const shown = grid ? curveOf(grid, choice).filter((one) => isKnown(one.step)) : [];
    const fitting = shown.filter((one) => one.verdict === "fits");
    const rates = shown.map((one) => (one.batch * 1000) / one.step);
    const unit = unitOf(shown.map((one) => one.step));
    const scaled = (name) => shown.map((one) => one[name] / TIME_UNITS[unit]);
    const said = (one, at) =>
      `batch ${one.batch}: ${timeText(one.step, unit)} (${timeRange(one.low, one.high, unit)}), ` +
      `${significant(rates[at])} samples/s, ${memoryText(one.needed)}, ${one.verdict}`;
    const room = choice.rows[choice.gpu].memory_gb;
    const batch = batchOf(view, grid, choice);
    const isNear = shown.some((one) => one.needed > room / 4);
    return {
      points: {
        batch: shown.map((one) => one.batch),
        step: scaled("step"),
        low: scaled("low"),
        high: scaled("high"),
        rate: rates,
        memory: shown.map((one) => one.needed),
        text: shown.map(said),
      },
      limits: { batch: fitting.length && fitting.length < shown.length ? [fitting.at(-1).batch] : [] },
      capacity: { memory: isKnown(room) && isNear ? [room] : [] },
      chosen: { batch: isKnown(batch) ? [batch] : [] },
      labels: { y_axis: `step, ${unit}` },
    };
  },
};

function figuresOf(root) {
  const places = [...root.querySelectorAll("[data-figure]")];
  const packed = document.querySelector("script.s-figures");
  if (!places.length || !packed || !window.Bokeh) return () => {};
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const color = (role) => getComputedStyle(root).getPropertyValue(ROLES[role]).trim();
  let [latest, documents, templates] = [null, new Map(), null];

  async function draw() {
    templates ??= await unpacked(packed);
    Bokeh.set_log_level("error");
    for (const place of places) {
      const name = place.dataset.figure;
      if (!templates.figures[name]) continue;
      let text = JSON.stringify(templates.figures[name]);
      for (const [role, token] of Object.entries(templates.colors)) text = text.replaceAll(token, color(role));
      place.hidden = false;
      place.replaceChildren();
      const views = await Bokeh.embed.embed_item(JSON.parse(text), place);
      documents.set(place, [...views.roots ?? views][0].model.document);
      place.parentNode.querySelector(".s-static")?.setAttribute("hidden", "");
    }
    fill();
  }

  function fill() {
    for (const [place, drawn] of documents) {
      const { factors, labels = {}, ...sources } = DATA[place.dataset.figure](latest, color);
      if (factors) drawn.get_model_by_name("factors").factors = factors;
      for (const [name, data] of Object.entries(sources)) {
        const source = drawn.get_model_by_name(name);
        if (source) source.data = data;
      }
      for (const [name, label] of Object.entries(labels)) {
        const axis = drawn.get_model_by_name(name);
        if (axis) axis.axis_label = label;
      }
    }
  }

  return (state) => {
    const isFirst = !latest;
    latest = state;
    if (!isFirst) return fill();
    dark.addEventListener("change", () => draw());
    return draw();
  };
}
