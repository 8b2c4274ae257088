// Brings each report of the page to life: what its controls choose is looked up and put into tables and figures.
function setUp(root, { view, parts }, draw = () => {}) {
  const grid = gridOf(view);
  const own = grid ? grid.own : [-1, -1, -1];
  const choice = { gpu: Math.max(0, view.focus), batch: own[0], precision: own[1], compile: own[2], prices: new Map(), rows: rowsOf(view) };
  for (const slot of root.querySelectorAll("[data-part]")) slot.innerHTML = parts[slot.dataset.part] ?? "";
  const table = root.querySelector("table.s-gpus");
  if (table && parts.gpus) table.tBodies[0].innerHTML = parts.gpus;
  const one = (name) => root.querySelector(`.s-${name}`);
  const [batch, precision, compile, price, slider] = ["batch", "precision", "compile", "price", "price-slider"].map(one);
  const gpus = [...root.querySelectorAll("select.s-gpu")];

  function showControls() {
    for (const select of gpus) select.value = choice.gpu;
    if (batch) {
      batch.value = Math.max(0, choice.batch);
      const said = `${batchOf(view, grid, choice).toLocaleString("en-US")}`;
      one("batch-text").textContent = said;
      batch.setAttribute("aria-valuetext", `batch size ${said}`);
    }
    if (precision) precision.value = choice.precision;
    if (compile) compile.value = choice.compile;
    const usd = choice.prices.get(choice.gpu) ?? choice.rows[choice.gpu]?.usd_per_hour;
    if (document.activeElement !== price) price.value = isKnown(usd) ? Number(usd.toPrecision(4)) : "";
    slider.max = Number((3 * (choice.rows[choice.gpu]?.usd_per_hour || 2)).toPrecision(2));
    slider.value = isKnown(usd) ? usd : 0;
    slider.setAttribute("aria-valuetext", `${moneyText(usd)} an hour`);
  }

  function showOutcome(found, unit) {
    put(root, "o-step", timeText(found.step, unit));
    put(root, "o-range", isKnown(found.step) ? timeRange(found.low, found.high, unit) : found.reason || "no answer");
    put(root, "o-faster", fasterText(found.faster));
    put(root, "o-rate", isKnown(found.samples) ? significant(found.samples) : UNKNOWN);
    put(root, "o-rate-unit", isKnown(found.samples) ? "samples/s" : "batch size not known: --batch-size");
    put(root, "o-cost", moneyText(found.cost));
    put(root, "o-cost-range", moneyRange(found.costLow, found.costHigh));
    const ground = view.prices[found.row.price]?.note ?? "no price known";
    put(root, "o-price", choice.prices.has(found.gpu) ? "your price" : ground);
    put(root, "o-memory", isKnown(found.needed) ? `${gigabytes(found.needed)} of ${memoryText(found.row.memory_gb)}` : UNKNOWN);
    put(root, "o-fits", found.verdict);
    put(root, "o-method", methodsText(view, found.row));
  }

  function show() {
    const outcomes = outcomesOf(view, grid, choice);
    const unit = table ? fillGpus(table, view, grid, outcomes, choice) : view.time_unit;
    const found = outcomes[choice.gpu];
    if (found) showOutcome(found, unitOf([found.step]));
    if (found) fillOperations(root, view, found.row, choice.gpu);
    const cost = one("cost");
    if (cost) drawScatter(cost, outcomes, choice.gpu, unit);
    const curve = one("curve");
    if (curve && grid) drawCurve(curve, curveOf(grid, choice), batchOf(view, grid, choice));
    showControls();
    const figures = draw({ view, grid, choice, outcomes, unit });
    if (!("shown" in root.dataset)) Promise.resolve(figures).then(() => (root.dataset.shown = ""));
  }

  const listen = (control, event, change) =>
    control?.addEventListener(event, () => {
      change(control.value);
      show();
      tools?.sortAgain();
    });
  for (const select of gpus) listen(select, "change", (value) => (choice.gpu = Number(value)));
  const choose = (axis) => (value) => {
    choice[axis] = Number(value);
    for (const other of AXES) // a prediction that is not in the grid: from here on, the grid's own
      if (!isOwn(grid, choice)) choice[other] = Math.max(0, choice[other]);
  };
  listen(batch, "input", choose("batch"));
  listen(precision, "change", choose("precision"));
  listen(compile, "change", choose("compile"));
  const pay = (value) => {
    if (value === "") choice.prices.delete(choice.gpu);
    else if (Number(value) >= 0) choice.prices.set(choice.gpu, Number(value));
  };
  listen(price, "input", pay);
  listen(slider, "input", pay);
  listen(one("reset"), "click", () => {
    Object.assign(choice, { gpu: Math.max(0, view.focus), batch: own[0], precision: own[1], compile: own[2] });
    choice.prices.clear();
  });
  const tools = table ? setUpTable(root, table, () => show()) : null;
  if (tools) tools.show();
  else show();
}

const curveOf = (grid, choice) =>
  grid.batch_sizes.map((batch, at) => ({
    batch,
    ...grid.at(choice.gpu, at, Math.max(0, choice.precision), Math.max(0, choice.compile)),
  }));

