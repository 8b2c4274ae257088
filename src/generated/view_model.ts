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
  price_note?: string;
  price_as_of?: string;
  price_source?: string;
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
  launches_text: string;
  here: Quantity;
  share: number;
  share_text: string;
  on_ms: number[];
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
}
