// What does the front end know of one prediction? The StoredView with its indices resolved and its numbers unpacked,
// each part when it is first asked for. Nothing is computed here that a kernel has not computed.

import { namedTimeUnit, type ITimeUnit } from './format';
import type { GridView, Packed, StoredView } from './generated/protocol';
import { unpack } from './packed';

/** A number with its range. */
export interface IRanged {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What an hourly price rests on. */
export interface IListedPrice {
  readonly usdPerHour: number | null;
  readonly note: string;
  readonly asOf: string;
  readonly source: string;
  readonly isOwn: boolean;
  /** With a slider, and not kept. */
  readonly isTried?: boolean;
}

/** One GPU of a prediction, at the setting that was asked about. */
export interface IGpu {
  readonly index: number;
  readonly name: string;
  readonly vendor: string;
  readonly architecture: string;
  readonly year: number | null;
  readonly memoryGb: number;
  readonly verdict: string;
  readonly step: IRanged;
  readonly busyMs: number;
  readonly partsMs: readonly number[];
  readonly bound: string;
  readonly methods: readonly { readonly label: string; readonly share: number }[];
  readonly isOrigin: boolean;
  readonly faster: number | null;
  /** So many are rented out together, and all are paid. */
  readonly soldBy: number;
  readonly listed: IListedPrice;
  readonly spot: IListedPrice | null;
  readonly neededGb: IRanged | null;
  readonly largestBatch: number | null;
  readonly cellS: IRanged | null;
}

/** One group of operations on one GPU. */
export interface IOperation {
  readonly index: number;
  readonly name: string;
  readonly phase: string;
  readonly launches: number;
  readonly hereMs: number | null;
  readonly source: string;
  readonly module: string;
  readonly note: string;
  readonly on: IRanged;
  readonly limit: string;
  readonly method: string;
}

/** A place on the axes of the grid. */
export interface ISetting {
  readonly batch: number;
  readonly precision: number;
  readonly compile: number;
  readonly count: number;
}

/** A prediction, read. */
export class Prediction {
  constructor(
    readonly stored: StoredView,
    grid: Grid | null = null
  ) {
    this.unit = namedTimeUnit(stored.time_unit);
    this.gpus = gpusOf(stored);
    this._grid = grid ?? (stored.grid ? new Grid(stored.grid) : null);
  }

  readonly unit: ITimeUnit;
  readonly gpus: readonly IGpu[];

  get id(): string {
    return this.stored.provenance.id;
  }

  /** The outcomes that sliders choose from; null until they are there. */
  get grid(): Grid | null {
    return this._grid;
  }

  /** The place of the GPU shown first; 0 where none is named. */
  get focus(): number {
    return Math.max(0, this.stored.focus);
  }

  /** The recorded step in ms, where it was recorded on a GPU. */
  get hereMs(): number | null {
    const { here } = this.stored;
    return here?.is_gpu && typeof here.step.value === 'number'
      ? here.step.value * namedTimeUnit(here.step.unit).ms
      : null;
  }

  /** The same prediction with outcomes that came later. */
  withGrid(grid: GridView): Prediction {
    return new Prediction({ ...this.stored, grid });
  }

  /** The same prediction with more batch sizes, of all its GPUs. */
  withBatches(slice: GridView): Prediction {
    return this._grid
      ? new Prediction(this.stored, this._grid.withBatches(slice, this.gpus.length))
      : this;
  }

  /** The place of a GPU by name; -1 where the prediction has none of it. */
  placeOf(gpu: string): number {
    return this.gpus.findIndex(one => one.name === gpu);
  }

  /** The operations on one GPU, as they stand in the view. */
  operationsOn(gpu: number): IOperation[] {
    const { operations, limit_labels, method_labels } = this.stored;
    this._packed ??= {
      ms: unpack(this.stored.operation_ms),
      low: unpack(this.stored.operation_low_ms),
      high: unpack(this.stored.operation_high_ms),
      kind: unpack(this.stored.operation_kind)
    };
    const { ms, low, high, kind } = this._packed;
    return operations.map((row, index) => {
      const place = gpu * operations.length + index;
      const value = ms[place] ?? NaN;
      const code = kind[place] ?? 0;
      return {
        index,
        name: row.name,
        phase: row.phase,
        launches: row.launches,
        hereMs: row.here_ms ?? null,
        source: row.source ?? '',
        module: row.module ?? '',
        note: row.note ?? '',
        on: {
          value,
          low: known(low[place], value),
          high: known(high[place], value)
        },
        limit: limit_labels[code % 16] ?? '',
        method: method_labels[Math.floor(code / 16)] ?? ''
      };
    });
  }

  private readonly _grid: Grid | null;
  private _packed: Record<'ms' | 'low' | 'high' | 'kind', Float64Array> | null = null;
}

/** Outcomes by GPU and setting. */
export class Grid {
  constructor(
    readonly view: GridView,
    private readonly _columns: IGridColumns = columnsOf(view)
  ) {
    this._largest = view.largest_batch ? unpack(view.largest_batch) : null;
    this._reason = view.reason ? unpack(view.reason) : null;
    const [batch = -1, precision = -1, compile = -1, count = -1] = view.own;
    this.own = { batch, precision, compile, count };
  }

  /** Where the prediction itself lies; -1 on an axis that it is not on. */
  readonly own: ISetting;

  /** A setting on the grid to start sliders from: the prediction's own, else the nearest there is. */
  get start(): ISetting {
    return {
      batch: this.own.batch >= 0 ? this.own.batch : Math.floor(this.view.batch_sizes.length / 2),
      precision: Math.max(0, this.own.precision),
      compile: Math.max(0, this.own.compile),
      count: Math.max(0, this.own.count)
    };
  }

  isOwn(setting: ISetting): boolean {
    return (['batch', 'precision', 'compile', 'count'] as const).every(
      axis => setting[axis] === this.own[axis]
    );
  }

  /** The step there, in ms; null where there is no answer. */
  step(gpu: number, setting: ISetting): IRanged | null {
    const { batch_sizes, precisions, compiles, counts } = this.view;
    const place =
      (((gpu * batch_sizes.length + setting.batch) * precisions.length + setting.precision) *
        compiles.length +
        setting.compile) *
        counts.length +
      setting.count;
    const value = this._columns.step[place];
    return value === undefined || Number.isNaN(value)
      ? null
      : {
          value,
          low: value * known(this._columns.low[place], 1),
          high: value * known(this._columns.high[place], 1)
        };
  }

  /** Memory in GB there: likely, and at most; null where not known. */
  memory(
    gpu: number,
    setting: ISetting
  ): { readonly likely: number; readonly high: number } | null {
    const place = this._memoryPlace(gpu, setting);
    const likely = this._columns.memory?.[place];
    return likely === undefined || Number.isNaN(likely)
      ? null
      : { likely, high: known(this._columns.memoryHigh?.[place], likely) };
  }

  /** Whether it fits there, in a word; "" where nothing is said. */
  verdict(gpu: number, setting: ISetting): string {
    const code = this._columns.fit?.[this._memoryPlace(gpu, setting)];
    return code === undefined ? '' : (this.view.fits?.[code] ?? '');
  }

  /** The largest batch that fits; 0 where not one sample does, null where not known. */
  largestBatch(gpu: number, precision: number): number | null {
    return orNull(this._largest?.[gpu * this.view.precisions.length + precision]);
  }

  /** With the batch sizes of a slice of the same GPUs and other axes, in order; what is here already stays. */
  withBatches(slice: GridView, gpuCount: number): Grid {
    const own = this.view.batch_sizes;
    const sizes = [...new Set([...own, ...slice.batch_sizes])].sort((a, b) => a - b);
    const isAlike = (['precisions', 'compiles', 'counts', 'fits'] as const).every(
      axis => String(slice[axis] ?? []) === String(this.view[axis] ?? [])
    );
    if (!isAlike || sizes.length === own.length) {
      return this;
    }
    const others = columnsOf(slice);
    // GPU and batch come first on the axes: all that lies below them moves together
    const merged = (mine: Float64Array | null, theirs: Float64Array | null): Float64Array | null =>
      mine &&
      theirs &&
      Float64Array.from(
        Array.from({ length: gpuCount }).flatMap((_, gpu) =>
          sizes.flatMap(size => {
            const isOwn = own.includes(size);
            const [from, batches] = isOwn ? [mine, own] : [theirs, slice.batch_sizes];
            const width = from.length / (gpuCount * batches.length);
            const start = (gpu * batches.length + batches.indexOf(size)) * width;
            return [...from.slice(start, start + width)];
          })
        )
      );
    const [batch = -1, ...rest] = this.view.own;
    const view = {
      ...this.view,
      batch_sizes: sizes,
      own: [batch < 0 ? batch : sizes.indexOf(own[batch] ?? NaN), ...rest]
    };
    const none = new Float64Array();
    return new Grid(view, {
      step: merged(this._columns.step, others.step) ?? none,
      low: merged(this._columns.low, others.low) ?? none,
      high: merged(this._columns.high, others.high) ?? none,
      memory: merged(this._columns.memory, others.memory),
      memoryHigh: merged(this._columns.memoryHigh, others.memoryHigh),
      fit: merged(this._columns.fit, others.fit)
    });
  }

  /** Why there is no answer for a GPU in a precision; "" where there is one. */
  blocker(gpu: number, precision: number): string {
    const code = this._reason?.[gpu * this.view.precisions.length + precision];
    return this.view.reasons?.[code ?? -1] ?? '';
  }

  private _memoryPlace(gpu: number, { batch, precision }: ISetting): number {
    const { batch_sizes, precisions } = this.view;
    return (gpu * batch_sizes.length + batch) * precisions.length + precision;
  }

  private readonly _largest: Float64Array | null;
  private readonly _reason: Float64Array | null;
}

// The numbers of a grid by (gpu, batch, ...): steps with precision, compile mode and count below, memory with precision.
interface IGridColumns {
  readonly step: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly memory: Float64Array | null;
  readonly memoryHigh: Float64Array | null;
  readonly fit: Float64Array | null;
}

function columnsOf(view: GridView): IGridColumns {
  return {
    step: unpack(view.step_ms),
    low: unpack(view.low_ratio),
    high: unpack(view.high_ratio),
    memory: view.memory_gb ? unpack(view.memory_gb) : null,
    memoryHigh: view.memory_high_gb ? unpack(view.memory_high_gb) : null,
    fit: view.fit ? unpack(view.fit) : null
  };
}

function gpusOf(stored: StoredView): IGpu[] {
  const { rows, vendors, architectures, verdicts, bounds, prices, part_labels, method_labels } =
    stored;
  const column = (packed: Packed | null | undefined): Float64Array | null =>
    packed ? unpack(packed) : null;
  const columns = {
    vendor: column(rows.vendor),
    architecture: column(rows.architecture),
    year: column(rows.release_year),
    memory: column(rows.memory_gb),
    verdict: column(rows.verdict),
    step: column(rows.step_ms),
    low: column(rows.low_ms),
    high: column(rows.high_ms),
    busy: column(rows.busy_ms),
    parts: column(rows.parts_ms),
    bound: column(rows.bound),
    methods: column(rows.method_share),
    usd: column(rows.usd_per_hour),
    soldBy: column(rows.sold_by),
    price: column(rows.price),
    faster: column(rows.faster),
    spotUsd: column(rows.spot_usd_per_hour),
    spot: column(rows.spot_price),
    needed: column(rows.needed_gb),
    neededLow: column(rows.needed_low_gb),
    neededHigh: column(rows.needed_high_gb),
    largest: column(rows.largest_batch),
    cell: column(rows.cell_s),
    cellLow: column(rows.cell_low_s),
    cellHigh: column(rows.cell_high_s)
  };
  const named = (labels: readonly string[], codes: Float64Array | null, place: number): string =>
    labels[codes?.[place] ?? -1] ?? '';
  const ranged = (
    value: Float64Array | null,
    low: Float64Array | null,
    high: Float64Array | null,
    place: number
  ): IRanged | null => {
    const likely = orNull(value?.[place]);
    return likely === null
      ? null
      : { value: likely, low: known(low?.[place], likely), high: known(high?.[place], likely) };
  };
  const priced = (usdPerHour: number | null, ground: number | undefined): IListedPrice => {
    const { note = '', as_of = '', source = '' } = prices[ground ?? -1] ?? {};
    return { usdPerHour, note, asOf: as_of, source, isOwn: false };
  };
  return rows.gpu.map((name, place) => {
    const spot = orNull(columns.spotUsd?.[place]);
    return {
      index: place,
      name,
      vendor: named(vendors, columns.vendor, place),
      architecture: named(architectures, columns.architecture, place),
      year: orNull(columns.year?.[place]),
      memoryGb: known(columns.memory?.[place], NaN),
      verdict: named(verdicts, columns.verdict, place),
      step: ranged(columns.step, columns.low, columns.high, place) ?? NO_STEP,
      busyMs: known(columns.busy?.[place], NaN),
      partsMs: [
        ...(columns.parts?.slice(place * part_labels.length, (place + 1) * part_labels.length) ??
          [])
      ],
      bound: named(bounds, columns.bound, place),
      methods: method_labels
        .map((label, method) => ({
          label,
          share: known(columns.methods?.[place * method_labels.length + method], 0)
        }))
        .filter(method => method.share > 0)
        .sort((a, b) => b.share - a.share),
      isOrigin: place === (rows.origin ?? -1),
      faster: orNull(columns.faster?.[place]),
      soldBy: known(columns.soldBy?.[place], 1),
      listed: priced(orNull(columns.usd?.[place]), columns.price?.[place]),
      spot: spot === null ? null : priced(spot, columns.spot?.[place]),
      neededGb: ranged(columns.needed, columns.neededLow, columns.neededHigh, place),
      largestBatch: orNull(columns.largest?.[place]),
      cellS: ranged(columns.cell, columns.cellLow, columns.cellHigh, place)
    };
  });
}

const NO_STEP: IRanged = { value: NaN, low: NaN, high: NaN };

function orNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function known(value: number | undefined, otherwise: number): number {
  return value === undefined || Number.isNaN(value) ? otherwise : value;
}
