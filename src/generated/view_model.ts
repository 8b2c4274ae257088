// Made from surfer_lab/view/schema.json by tools.generate_types; change surfer_lab/view/model.py.

/**
 * What a sentence or a choice is about; hosts order and mark by it.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Role".
 */
export type Role =
  "advice" | "batch" | "bound" | "cell" | "cheapest" | "coverage" | "fastest" | "here" | "memory" | "sharded" | "step";
/**
 * Whether the step fits into a card's memory.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Verdict".
 */
export type Verdict = "does not fit" | "fits" | "not known" | "tight";

/**
 * Everything shown of one prediction. `rows` is in order of step time; `shortlist` and `focus` name rows.
 */
export interface ViewModel {
  schema_version: number;
  name: string;
  title: string;
  sentences: Sentence[];
  here: Here | null;
  choices: Choice[];
  rows: GpuRow[];
  shortlist: string[];
  shows_all: boolean;
  focus: string;
  shows_busy: boolean;
  operations: OperationRow[];
  families: GroupRow[];
  phases: GroupRow[];
  figures: (RangeFigure | PartitionFigure | ScatterFigure | CurveFigure)[];
  part_labels: string[];
  limit_labels: string[];
  method_labels: string[];
  warnings: string[];
  assumptions: string[];
  range_note: string;
  price_note: string;
  environment: {
    [k: string]: string;
  };
  command: string;
  version: string;
  alternatives?: AlternativeRow[];
  alternatives_note?: string;
  memory?: MemoryView | null;
  blocked?: BlockedRow[];
  coverage?: CoverageShares | null;
  accuracy?: string[];
  batch_size?: number | null;
  dataset_size?: number | null;
  provenance?: Provenance | null;
  grid?: GridView | null;
  modules?: ModuleTree | null;
  roofline?: RooflineView | null;
  timeline?: TimelineView | null;
  scaling?: ScalingView | null;
}
/**
 * One sentence for people; `label` is its short lead ("Fastest").
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Sentence".
 */
export interface Sentence {
  role: Role;
  label: string;
  text: string;
}
/**
 * The step as it was recorded.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Here".
 */
export interface Here {
  device: string;
  step: Quantity;
  busy: Quantity | null;
  how: string;
  is_gpu: boolean;
  parts: Part[];
}
/**
 * A number, worded. `value`, `low` and `high` are in `unit`; without a `value` it is not known and reads "–".
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Quantity".
 */
export interface Quantity {
  text: string;
  unit: string;
  value?: number | null;
  low?: number | null;
  high?: number | null;
  range_text?: string;
}
/**
 * One part of the step's wall time.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Part".
 */
export interface Part {
  key: string;
  label: string;
  value_ms: number;
  share: number;
  text: string;
}
/**
 * One of the few GPUs to decide between.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Choice".
 */
export interface Choice {
  role: Role;
  label: string;
  gpu: string;
  headline: string;
  lines: string[];
}
/**
 * The step on one GPU. `parts_ms` follows `part_labels` of the ViewModel; `methods`: shares of GPU time, sum 1.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "GpuRow".
 */
export interface GpuRow {
  gpu: string;
  vendor: string;
  architecture: string;
  release_year: number | null;
  memory: Quantity;
  verdict: Verdict;
  step: Quantity;
  busy: Quantity;
  faster: Quantity;
  usd_per_hour: Quantity;
  usd_per_1000_steps: Quantity;
  bound: string;
  parts_ms: number[];
  methods: {
    [k: string]: number;
  };
  methods_text: string;
  is_origin?: boolean;
  memory_note?: string;
  needed?: Quantity | null;
  largest_batch?: number | null;
  samples_per_s?: Quantity | null;
  needed_is_measured?: boolean;
  sold_by?: number;
  price_note?: string;
  price_as_of?: string;
  price_source?: string;
  spot_usd_per_hour?: Quantity | null;
  spot_sold_by?: number;
  spot_note?: string;
  spot_as_of?: string;
  spot_source?: string;
  epoch?: Quantity | null;
  usd_per_epoch?: Quantity | null;
  cell?: Quantity | null;
  usd_per_cell?: Quantity | null;
}
/**
 * One of the costliest groups of operations of a step; `on_*` have one entry a row of the ViewModel, same order.
 *
 * `on_limit` and `on_method` index the ViewModel's `limit_labels` and `method_labels`.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "OperationRow".
 */
export interface OperationRow {
  name: string;
  phase: string;
  launches: number;
  launches_text: string;
  here: Quantity;
  share: number;
  share_text: string;
  on_ms: number[];
  on_low_ms: number[];
  on_high_ms: number[];
  on_text: string[];
  on_range: string[];
  on_share_text: string[];
  on_limit: number[];
  on_method: number[];
  source?: string;
  module?: string;
  note?: string;
}
/**
 * A share of the GPU time by some grouping.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "GroupRow".
 */
export interface GroupRow {
  label: string;
  share: number;
  text: string;
}
/**
 * Step time and its range by GPU, shortest first.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "RangeFigure".
 */
export interface RangeFigure {
  kind: "range";
  title: string;
  description: string;
  unit: string;
  bars: RangeBar[];
  reference: number | null;
  reference_label: string;
  table: TableTwin;
}
/**
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "RangeBar".
 */
export interface RangeBar {
  label: string;
  value: number;
  low: number;
  high: number;
  text: string;
  note: string;
  is_origin: boolean;
}
/**
 * A figure's numbers as a table.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "TableTwin".
 */
export interface TableTwin {
  columns: string[];
  rows: string[][];
}
/**
 * Where the wall time of a step goes, here and on a few GPUs.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "PartitionFigure".
 */
export interface PartitionFigure {
  kind: "partition";
  title: string;
  description: string;
  bars: PartitionBar[];
  table: TableTwin;
}
/**
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "PartitionBar".
 */
export interface PartitionBar {
  label: string;
  total_text: string;
  parts: Part[];
}
/**
 * Cost against time; the front are GPUs that none beats in both.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "ScatterFigure".
 */
export interface ScatterFigure {
  kind: "scatter";
  title: string;
  description: string;
  x_label: string;
  y_label: string;
  points: ScatterPoint[];
  table: TableTwin;
}
/**
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "ScatterPoint".
 */
export interface ScatterPoint {
  label: string;
  x: number;
  y: number;
  text: string;
  on_front: boolean;
  is_origin: boolean;
}
/**
 * Throughput and step time by batch size on one GPU.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "CurveFigure".
 */
export interface CurveFigure {
  kind: "curve";
  title: string;
  description: string;
  gpu: string;
  x_label: string;
  y_label: string;
  points: CurvePoint[];
  largest_fitting: number;
  table: TableTwin;
}
/**
 * A step at one batch size. `mark` says what is special about it ("knee", "largest that fits"), else "".
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "CurvePoint".
 */
export interface CurvePoint {
  batch_size: number;
  step: Quantity;
  samples_per_s: Quantity;
  memory: Quantity;
  verdict: Verdict;
  mark?: string;
}
/**
 * The step in another precision or compiled, on the GPU shown first; without an answer `blocker` says why.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "AlternativeRow".
 */
export interface AlternativeRow {
  precision: string;
  compile: string;
  label: string;
  step: Quantity;
  faster: Quantity;
  memory: Quantity;
  verdict: Verdict;
  is_shown?: boolean;
  blocker?: string;
}
/**
 * Where the step's memory goes on one GPU: the parts with bytes, and the sums. `measured`: the recorded peak.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "MemoryView".
 */
export interface MemoryView {
  gpu: string;
  parts: MemoryPartRow[];
  allocated: Quantity;
  reserved: Quantity;
  device: Quantity;
  when: string;
  measured?: string;
}
/**
 * One part of the step's memory, and where its number comes from.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "MemoryPartRow".
 */
export interface MemoryPartRow {
  label: string;
  amount: Quantity;
  source: string;
}
/**
 * A GPU that was asked about and has no answer.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "BlockedRow".
 */
export interface BlockedRow {
  gpu: string;
  why: string;
}
/**
 * Shares by knowing the operation's family, by generic fallback, not scaled: of operations, and of time.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "CoverageShares".
 */
export interface CoverageShares {
  gpu: string;
  item_count: number;
  family_of_items: number;
  fallback_of_items: number;
  unscaled_of_items: number;
  family_of_time: number;
  fallback_of_time: number;
  unscaled_of_time: number;
  text: string;
}
/**
 * Where a prediction comes from. `id` is the same in output, history and messages; `made_at` ISO 8601, UTC.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Provenance".
 */
export interface Provenance {
  id: string;
  made_at?: string;
  source?: "cell" | "file" | "model" | "python";
  notebook?: string;
  cell?: string;
  file?: string;
  cells?: {
    [k: string]: string;
  };
}
/**
 * Outcomes by (gpu, batch, precision, compile, count). GPUs are the rows of the view, in their order.
 *
 * `step_ms` log16; `low_ratio`, `high_ratio` log16, times the step; `busy_ratio` too, where it is known. Memory by
 * (gpu, batch, precision), log16; `fit` u8, an index into `fits`. By (gpu, precision): `largest_batch` f32, and
 * `reason` u8, an index into `reasons` where there is no answer.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "GridView".
 */
export interface GridView {
  batch_sizes: number[];
  precisions: string[];
  precision_labels: string[];
  compiles: string[];
  compile_labels: string[];
  counts: number[];
  own: number[];
  step_ms: Packed;
  low_ratio: Packed;
  high_ratio: Packed;
  busy_ratio?: Packed | null;
  memory_gb?: Packed | null;
  memory_high_gb?: Packed | null;
  fit?: Packed | null;
  fits?: string[];
  largest_batch?: Packed | null;
  reason?: Packed | null;
  reasons?: string[];
  notes?: string[];
  gpus?: string[];
}
/**
 * Numbers as base64 of little-endian bytes, row-major.
 *
 * `f32`: IEEE floats, nan is "not known". `u8`, `u16`: whole numbers, the largest is "not known". `log16`: unsigned
 * 16-bit codes c; 0 is "not known", else exp(log_low + (c - 1) / 65534 x (log_high - log_low)).
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "Packed".
 */
export interface Packed {
  kind: "f32" | "log16" | "u16" | "u8";
  data: string;
  log_low?: number;
  log_high?: number;
}
/**
 * The step's GPU time by module path; a node's time holds its children's. Columns, one entry a node.
 *
 * A parent stands before its children; node 0 is the whole step. `left` and `right` place it in [0, 1] by its time at
 * the origin, else on the GPU shown first (`is_measured` says which). `times_ms`: log16, (gpus, nodes).
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "ModuleTree".
 */
export interface ModuleTree {
  name: string[];
  parent: Packed;
  share: Packed;
  left: Packed;
  right: Packed;
  is_measured: boolean;
  times_ms: Packed;
  here_ms?: Packed | null;
  source?: string[];
  note?: string;
}
/**
 * Work of each operation group of the view, same order, and the roofs of each GPU row, same order.
 *
 * Intensity is flop / bytes; what is reached is flop / time. `classes` are kinds of arithmetic ("fp32", "bf16", ...).
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "RooflineView".
 */
export interface RooflineView {
  gflop: Packed;
  gbyte: Packed;
  rate_class: Packed;
  classes: string[];
  tflop_per_s: Packed;
  gb_per_s: Packed;
  note?: string;
}
/**
 * One step as stretches of time, neighbours merged until they are few enough. Packed columns, one entry a stretch.
 *
 * Times in ms from the start of the step. `filled`: percent of a stretch that is really taken.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "TimelineView".
 */
export interface TimelineView {
  step_ms: number;
  start_ms: number;
  end_ms: number;
  lanes: TimelineLane[];
  names: string[];
  lane: Packed;
  begin_ms: Packed;
  length_ms: Packed;
  name: Packed;
  count: Packed;
  filled: Packed;
  is_measured: boolean;
  on: string;
  note?: string;
}
/**
 * One lane: a thread of the host, waits for input, a stream of the GPU, idle stretches of the GPU.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "TimelineLane".
 */
export interface TimelineLane {
  key: "gpu" | "host" | "idle" | "input";
  label: string;
}
/**
 * A machine's curve. `columns` and `table` are the rows as a table of words.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "ScalingView".
 */
export interface ScalingView {
  title: string;
  gpu: string;
  machine: string;
  link: string;
  strategy: string;
  rows: ScalingRow[];
  columns: string[];
  table: string[][];
  notes?: string[];
}
/**
 * One number of GPUs; times are of one step. Without a value: not known.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "ScalingRow".
 */
export interface ScalingRow {
  gpus: number;
  nodes: number;
  step_ms: number;
  low_ms: number;
  high_ms: number;
  efficiency: number;
  compute_ms: number;
  exposed_ms: number;
  hidden_ms: number;
  sent_gb: number;
  samples_per_s?: number | null;
  memory_gb?: number | null;
  usd_per_1000_steps?: number | null;
  verdict?: string;
}
/**
 * Everything shown of one prediction. `rows` is in order of step time; `shortlist` and `focus` name rows.
 *
 * This interface was referenced by `ViewModel`'s JSON-Schema
 * via the `definition` "ViewModel".
 */
export interface ViewModel1 {
  schema_version: number;
  name: string;
  title: string;
  sentences: Sentence[];
  here: Here | null;
  choices: Choice[];
  rows: GpuRow[];
  shortlist: string[];
  shows_all: boolean;
  focus: string;
  shows_busy: boolean;
  operations: OperationRow[];
  families: GroupRow[];
  phases: GroupRow[];
  figures: (RangeFigure | PartitionFigure | ScatterFigure | CurveFigure)[];
  part_labels: string[];
  limit_labels: string[];
  method_labels: string[];
  warnings: string[];
  assumptions: string[];
  range_note: string;
  price_note: string;
  environment: {
    [k: string]: string;
  };
  command: string;
  version: string;
  alternatives?: AlternativeRow[];
  alternatives_note?: string;
  memory?: MemoryView | null;
  blocked?: BlockedRow[];
  coverage?: CoverageShares | null;
  accuracy?: string[];
  batch_size?: number | null;
  dataset_size?: number | null;
  provenance?: Provenance | null;
  grid?: GridView | null;
  modules?: ModuleTree | null;
  roofline?: RooflineView | null;
  timeline?: TimelineView | null;
  scaling?: ScalingView | null;
}
