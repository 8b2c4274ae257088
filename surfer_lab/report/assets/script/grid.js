// Finds one outcome of the grid that Python computed: a choice is a look-up, no prediction.
// Columns of the view: base64 of little-endian numbers; what is not known is NaN.
function numbersOf(packed) {
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed.data), (one) => one.charCodeAt(0));
  const words = new DataView(bytes.buffer);
  const size = { u8: 1, u16: 2, log16: 2, f32: 4 }[packed.kind];
  const [low, width] = [packed.log_low ?? 0, (packed.log_high ?? 0) - (packed.log_low ?? 0)];
  const read = {
    u8: (at) => (bytes[at] === 255 ? NaN : bytes[at]),
    u16: (at) => (words.getUint16(2 * at, true) === 65535 ? NaN : words.getUint16(2 * at, true)),
    f32: (at) => Number(words.getFloat32(4 * at, true).toPrecision(7)), // all the digits that it has
    log16: (at) => {
      const code = words.getUint16(2 * at, true);
      return code ? Math.exp(low + ((code - 1) / 65534) * width) : NaN;
    },
  }[packed.kind];
  return Array.from({ length: bytes.length / size }, (_, at) => read(at));
}

// One object a GPU, in the order of the rows.
function rowsOf(view) {
  const packed = view.rows;
  const columns = Object.fromEntries(
    Object.entries(packed).map(([name, column]) => [name, column?.data === undefined ? null : numbersOf(column)]),
  );
  const methods = view.method_labels.length;
  return packed.gpu.map((gpu, at) => ({
    ...Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column ? column[at] : NaN])),
    gpu,
    is_origin: at === packed.origin,
    methods: columns.method_share.slice(at * methods, (at + 1) * methods),
  }));
}

function gridOf(view) {
  const grid = view.grid;
  if (!grid) return null;
  const [batches, precisions, compiles, counts] = [grid.batch_sizes, grid.precisions, grid.compiles, grid.counts].map(
    (axis) => axis.length,
  );
  const names = ["step_ms", "low_ratio", "high_ratio", "busy_ratio", "memory_gb", "fit", "largest_batch", "reason"];
  const table = Object.fromEntries(names.map((name) => [name, numbersOf(grid[name])]));
  return {
    ...grid,
    at(gpu, batch, precision, compile) {
      const place = (gpu * batches + batch) * precisions + precision;
      const cell = (place * compiles + compile) * counts;
      const step = table.step_ms[cell];
      const reason = table.reason?.[gpu * precisions + precision];
      return {
        step,
        low: step * table.low_ratio[cell],
        high: step * table.high_ratio[cell],
        busy: table.busy_ratio ? step * table.busy_ratio[cell] : NaN,
        needed: table.memory_gb?.[place] ?? NaN,
        verdict: table.fit ? (grid.fits?.[table.fit[place]] ?? "not known") : "not known",
        largest: table.largest_batch?.[gpu * precisions + precision] ?? NaN,
        reason: isKnown(reason) ? grid.reasons[reason] : "",
      };
    },
  };
}

// What the page says of each GPU under the choice made: as the prediction has it, else as the grid has it.
const AXES = ["batch", "precision", "compile"];
const isOwn = (grid, choice) => !grid || AXES.every((axis, at) => choice[axis] === grid.own[at]);
const hasBatches = (grid) => grid?.batch_sizes.length > 1; // one alone may stand for a batch that nobody knows
const batchOf = (view, grid, choice) =>
  (!hasBatches(grid) || isOwn(grid, choice) ? view.batch_size : grid.batch_sizes[choice.batch]) ?? NaN;

function outcomesOf(view, grid, choice) {
  const asPredicted = isOwn(grid, choice);
  const batch = batchOf(view, grid, choice);
  const axes = AXES.map((axis) => Math.max(0, choice[axis]));
  return choice.rows.map((row, gpu) => {
    const found = asPredicted
      ? {
          step: row.step_ms,
          low: row.low_ms,
          high: row.high_ms,
          busy: row.busy_ms,
          needed: row.needed_gb ?? NaN,
          verdict: view.verdicts[row.verdict] ?? "not known",
          largest: row.largest_batch ?? NaN,
          reason: "",
        }
      : grid.at(gpu, ...axes);
    const usdPerHour = choice.prices.get(gpu) ?? row.usd_per_hour;
    const cost = (ms) => (usdPerHour * (ms * 1e6 * 1000)) / 3.6e12; // in ns, as Python multiplies
    return {
      ...found,
      gpu,
      row,
      asPredicted,
      faster: (row.faster * row.step_ms) / found.step,
      samples: (batch * 1e9) / (found.step * 1e6),
      usdPerHour,
      cost: cost(found.step),
      costLow: cost(found.low),
      costHigh: cost(found.high),
    };
  });
}

// Those with a price that no other beats in both time and cost, of those that fit.
function frontOf(outcomes) {
  let least = Infinity;
  const usable = outcomes.filter((one) => one.verdict !== "does not fit" && isKnown(one.step) && isKnown(one.cost));
  return usable
    .sort((a, b) => a.step - b.step || a.cost - b.cost)
    .filter((one) => {
      const isBetter = one.cost < least;
      least = Math.min(least, one.cost);
      return isBetter;
    });
}
