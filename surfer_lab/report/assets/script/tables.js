// Keeps the tables in step with the choice made: GPUs (sorted, filtered, shown on asking) and the operations on one.
function setUpTable(root, table, onShown) {
  const body = table.tBodies[0];
  const [search, all, count] = [".s-filter", ".s-all", ".s-count"].map((name) => root.querySelector(name));
  for (const row of body.rows) row.cells[0].dataset.sort ??= row.cells[0].textContent.toLowerCase();
  const show = () => {
    const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = `${row.cells[0].textContent} ${row.dataset.find}`.toLowerCase();
      const found = words.every((word) => text.includes(word));
      row.hidden = !(found && (words.length || !all || all.checked || "short" in row.dataset));
      shown += !row.hidden;
    }
    if (count) count.textContent = `${shown} of ${body.rows.length} GPUs`;
    onShown();
  };
  search?.addEventListener("input", show);
  all?.addEventListener("change", show);
  const heads = [...table.tHead.rows[0].cells];
  const sort = (column, down) => {
    const key = (row) => row.cells[column].dataset.sort ?? "";
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what is not known stays last
      const order = heads[column].dataset.text === undefined ? x - y : x.localeCompare(y);
      return down ? -order : order;
    });
    body.append(...rows);
  };
  heads.forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(column, down);
    });
  });
  return {
    show,
    sortAgain() {
      const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
      if (column >= 0) sort(column, heads[column].getAttribute("aria-sort") === "descending");
    },
  };
}

function put(row, name, text, sort) {
  const place = row.querySelector(`.s-v-${name}`);
  if (!place) return;
  place.textContent = text;
  const cell = place.closest("td");
  if (sort !== undefined && cell) cell.dataset.sort = isKnown(sort) ? String(sort) : "";
}

function fillGpus(table, view, grid, outcomes, choice) {
  const rows = [...table.tBodies[0].rows];
  const unit = outcomes[0]?.asPredicted ? view.time_unit : unitOf(view.shortlist.map((gpu) => outcomes[gpu].step));
  const seen = rows.filter((row) => !row.hidden).map((row) => outcomes[row.dataset.row]);
  const ends = seen.flatMap((one) => [one.low, one.step, one.high]).filter((ms) => ms > 0);
  const [least, most] = ends.length ? [Math.min(...ends) / 1.05, Math.max(...ends) * 1.05] : [1, 2];
  const share = (ms) => (ms <= least ? 0 : Math.min(1, Math.log(ms / least) / Math.log(most / least)));
  const percent = (part) => `${(100 * part).toFixed(1)}%`;
  for (const row of rows) {
    const one = outcomes[row.dataset.row];
    put(row, "step", timeText(one.step, unit), one.step);
    put(row, "faster", one.row.is_origin && one.asPredicted ? "" : fasterText(one.faster));
    put(row, "range", isKnown(one.step) ? timeRange(one.low, one.high, unit) : one.reason || "no answer");
    put(row, "busy", isKnown(one.busy) ? `GPU busy ${timeText(one.busy, unit)}` : "");
    put(row, "rate", isKnown(one.samples) ? significant(one.samples) : UNKNOWN, one.samples);
    const several = one.row.sold_by > 1 && !choice.prices.has(one.gpu) ? ` for ${one.row.sold_by}` : "";
    put(row, "hour", moneyText(one.usdPerHour) + several, one.usdPerHour);
    put(row, "hour-note", choice.prices.has(one.gpu) ? "your price" : "");
    put(row, "cost", moneyText(one.cost), one.cost);
    put(row, "cost-range", moneyRange(one.costLow, one.costHigh));
    const steps = view.dataset_size ? Math.ceil(view.dataset_size / batchOf(view, grid, choice)) : NaN;
    put(row, "epoch", isKnown(one.step * steps) ? durationText(one.step * steps) : UNKNOWN, one.step * steps);
    put(row, "epoch-cost", isKnown(one.cost * steps) ? moneyText((one.cost * steps) / 1000) : "");
    put(row, "largest", isKnown(one.largest) ? one.largest.toLocaleString("en-US") : UNKNOWN, one.largest);
    const says = ["fits", "not known"].includes(one.verdict) ? "" : one.verdict;
    const needs = [isKnown(one.needed) ? `needs ${memoryText(one.needed)}` : "", says].filter(Boolean).join(", ");
    put(row, "needed", needs);
    const place = row.querySelector(".s-v-needed");
    place?.classList.toggle("s-bad", one.verdict === "does not fit");
    place?.classList.toggle("s-warn", one.verdict === "tight");
    for (const name of ["cell", "bound"]) {
      const told = row.querySelector(`.s-v-${name}`);
      if (!told) continue;
      told.dataset.own ??= told.textContent;
      told.textContent = one.asPredicted ? told.dataset.own : UNKNOWN; // known of the step as predicted only
    }
    const [bar, dot] = [row.querySelector(".s-range"), row.querySelector(".s-dot")];
    bar.parentNode.style.visibility = isKnown(one.step) ? "" : "hidden";
    if (!isKnown(one.step)) continue;
    bar.setAttribute("x", percent(share(one.low)));
    bar.setAttribute("width", percent(share(one.high) - share(one.low)));
    dot.setAttribute("cx", percent(share(one.step)));
  }
  const scale = table.querySelector(".s-scale");
  const end = (ms) => Number((ms / TIME_UNITS[unit]).toPrecision(3));
  if (scale) scale.textContent = `${end(least)} to ${end(most)} ${unit}, log`;
  const here = view.here?.is_gpu ? view.here.step.value * TIME_UNITS[view.here.step.unit] : NaN;
  if (here > least && here < most) table.style.setProperty("--s-here", percent(share(here)));
  else table.style.removeProperty("--s-here");
  return unit;
}

function fillOperations(root, view, row, gpu) {
  const rows = root.querySelector("table.s-operations")?.tBodies[0].rows;
  if (!rows) return;
  root.operations ??= ["", "_low", "_high"].map((end) => numbersOf(view[`operation${end}_ms`]));
  root.kinds ??= numbersOf(view.operation_kind);
  const [[times, lows, highs], kinds] = [root.operations, root.kinds];
  const count = view.operation_count;
  const total = times.slice(gpu * count, (gpu + 1) * count).reduce((sum, ms) => sum + (ms || 0), 0);
  [...rows].forEach((row, at) => {
    const place = gpu * count + at;
    const unit = unitOf(view.rows.gpu.map((_, one) => times[one * count + at]));
    put(row, "time", timeText(times[place], unit));
    put(row, "time-range", timeRange(lows[place], highs[place], unit));
    put(row, "share", shareText(times[place] / total));
    put(row, "method", view.method_labels[kinds[place] >> 4]);
    put(row, "limit", view.limit_labels[kinds[place] & 15]);
  });
  for (const place of root.querySelectorAll(".s-there")) place.textContent = row.gpu;
  const coverage = root.querySelector(".s-coverage");
  if (coverage) coverage.textContent = methodsText(view, row);
}

const methodsText = (view, row) =>
  row.methods
    .map((share, method) => [isKnown(share) ? share : 0, method])
    .sort((a, b) => b[0] - a[0])
    .filter(([share]) => share > 0)
    .map(([share, method]) => `${shareText(share)} ${view.method_labels[method]}`)
    .join(", ") || UNKNOWN;
