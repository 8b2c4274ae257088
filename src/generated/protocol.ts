// Made from surfer_lab/panel/schema.json by tools.generate_types; change surfer_lab/{panel/messages,view/*_model}.py.

/**
 * What a sentence or a choice is about; hosts order and mark by it.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Role".
 */
export type Role =
  "advice" | "batch" | "bound" | "cell" | "cheapest" | "coverage" | "fastest" | "here" | "memory" | "sharded" | "step";

/**
 * What is sent: by the front end, by the kernel, and what stays in a notebook.
 */
export interface Protocol {
  request:
    | AskHello
    | AskHistory
    | AskView
    | AskGrid
    | AskPrice
    | AskTimeline
    | AskOperations
    | AskFigures
    | AskForget
    | AskTrace
    | AskCompare
    | Cancel;
  answer:
    | Hello
    | History
    | ViewAnswer
    | GridSlice
    | TimelineSlice
    | OperationsSlice
    | Figures
    | Comparison
    | Cancelled
    | Done
    | Failure;
  progress: Progress;
  announcement: Predicted | GridReady | Forgotten | Training;
  stored: StoredView;
}
/**
 * First message from a front end. `notebook` is its path on the server, for the history; "" is not known.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskHello".
 */
export interface AskHello {
  kind: "hello";
  id: string;
  protocol: number;
  version: string;
  schema_version: number;
  notebook?: string;
}
/**
 * The predictions that this kernel can tell of.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskHistory".
 */
export interface AskHistory {
  kind: "history";
  id: string;
}
/**
 * The whole view of a prediction.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskView".
 */
export interface AskView {
  kind: "view";
  id: string;
  prediction: string;
}
/**
 * Outcomes that the stored grid lacks: these GPUs (all when empty), batch sizes, precisions, compile modes.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskGrid".
 */
export interface AskGrid {
  kind: "grid";
  id: string;
  prediction: string;
  gpus?: string[];
  batch_sizes?: number[];
  precisions?: string[];
  compiles?: string[];
}
/**
 * An own price for a GPU in this prediction; null takes it back. Answered by the view with it.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskPrice".
 */
export interface AskPrice {
  kind: "price";
  id: string;
  prediction: string;
  gpu: string;
  usd_per_hour: number | null;
}
/**
 * A window of the step, in more detail. `end_ms` 0: to the end of the step; `gpu`: where nothing was measured.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskTimeline".
 */
export interface AskTimeline {
  kind: "timeline";
  id: string;
  prediction: string;
  start_ms?: number;
  end_ms?: number;
  most?: number;
  gpu?: string;
}
/**
 * Rows of the operations table on one GPU, by falling time there; `find` filters by text.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskOperations".
 */
export interface AskOperations {
  kind: "operations";
  id: string;
  prediction: string;
  gpu: string;
  by?: "kind" | "module" | "operation" | "phase";
  first?: number;
  count?: number;
  find?: string;
}
/**
 * Figures by name as Bokeh JSON items with their data; all when empty. `gpu` "": the one shown first.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskFigures".
 */
export interface AskFigures {
  kind: "figures";
  id: string;
  prediction: string;
  names?: string[];
  gpu?: string;
}
/**
 * Forget a prediction, in this kernel and on disk.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskForget".
 */
export interface AskForget {
  kind: "forget";
  id: string;
  prediction: string;
}
/**
 * Read a trace file, seen from the kernel's folder, and predict it. Progress comes on the way; may be cancelled.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskTrace".
 */
export interface AskTrace {
  kind: "trace";
  id: string;
  path: string;
  origin?: string;
}
/**
 * Several predictions side by side, on the GPUs that all of them have.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "AskCompare".
 */
export interface AskCompare {
  kind: "compare";
  id: string;
  predictions: string[];
}
/**
 * Stop the work of a request. It is still answered: by a Failure of kind "cancelled", or as done.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Cancel".
 */
export interface Cancel {
  kind: "cancel";
  id: string;
  request: string;
}
/**
 * Who answers. `gpu`: name of the first GPU that the kernel sees, "" for none or where torch is not loaded.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Hello".
 */
export interface Hello {
  kind: "hello";
  id: string;
  protocol: number;
  version: string;
  schema_version: number;
  has_torch: boolean;
  gpu: string;
  entries: Entry[];
}
/**
 * A prediction in the history. Where `is_live`, the kernel holds it and answers slices; else its view alone.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Entry".
 */
export interface Entry {
  provenance: Provenance;
  name: string;
  title: string;
  headline: string;
  is_live: boolean;
}
/**
 * Where a prediction comes from. `id` is the same in output, history and messages; `made_at` ISO 8601, UTC.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * Newest last.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "History".
 */
export interface History {
  kind: "history";
  id: string;
  entries: Entry[];
}
/**
 * A view.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "ViewAnswer".
 */
export interface ViewAnswer {
  kind: "view";
  id: string;
  view: StoredView;
}
/**
 * Everything shown of one prediction. `shortlist` and `focus` are places among the rows.
 *
 * `operation_ms`, `operation_low_ms`, `operation_high_ms`: log16, (rows, operations), 0 is "not known";
 * `operation_kind`: u8, method x 16 + limit.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "StoredView".
 */
export interface StoredView {
  schema_version: number;
  provenance: Provenance;
  name: string;
  title: string;
  sentences: Sentence[];
  here: Here | null;
  choices: Choice[];
  rows: StoredRows;
  shortlist: number[];
  shows_all: boolean;
  focus: number;
  shows_busy: boolean;
  time_unit: string;
  vendors: string[];
  architectures: string[];
  verdicts: string[];
  bounds: string[];
  prices: PriceGround[];
  part_labels: string[];
  limit_labels: string[];
  method_labels: string[];
  operations: StoredOperation[];
  operation_ms: Packed;
  operation_low_ms: Packed;
  operation_high_ms: Packed;
  operation_kind: Packed;
  families: GroupRow[];
  phases: GroupRow[];
  warnings: string[];
  assumptions: string[];
  range_note: string;
  price_note: string;
  environment: {
    [k: string]: string;
  };
  command: string;
  version: string;
  accuracy?: string[];
  batch_size?: number | null;
  dataset_size?: number | null;
  alternatives?: StoredAlternative[];
  alternatives_note?: string;
  memory?: MemoryView | null;
  blocked?: BlockedRow[];
  coverage?: CoverageShares | null;
  curve?: StoredCurve | null;
  grid?: GridView | null;
  modules?: ModuleTree | null;
  roofline?: RooflineView | null;
  timeline?: TimelineView | null;
  scaling?: ScalingView | null;
  scaling_links?: ScalingView[];
}
/**
 * One sentence for people; `label` is its short lead ("Fastest").
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * The step on each GPU, as it was asked about: one column a fact, one entry a GPU, in order of step time.
 *
 * u8 columns index the tables of the StoredView; all others are f32. Left out, for they follow: samples/s = batch
 * size / step; USD per 1,000 steps = USD per hour x step in hours x 1,000; an epoch = ceil(data set / batch) steps.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "StoredRows".
 */
export interface StoredRows {
  gpu: string[];
  vendor: Packed;
  architecture: Packed;
  release_year: Packed;
  memory_gb: Packed;
  verdict: Packed;
  step_ms: Packed;
  low_ms: Packed;
  high_ms: Packed;
  busy_ms: Packed;
  parts_ms: Packed;
  bound: Packed;
  method_share: Packed;
  usd_per_hour: Packed;
  sold_by: Packed;
  price: Packed;
  spot_sold_by?: Packed | null;
  origin?: number;
  faster?: Packed | null;
  spot_usd_per_hour?: Packed | null;
  spot_price?: Packed | null;
  needed_gb?: Packed | null;
  needed_low_gb?: Packed | null;
  needed_high_gb?: Packed | null;
  needed_is_measured?: boolean;
  largest_batch?: Packed | null;
  cell_s?: Packed | null;
  cell_low_s?: Packed | null;
  cell_high_s?: Packed | null;
}
/**
 * Numbers as base64 of little-endian bytes, row-major.
 *
 * `f32`: IEEE floats, nan is "not known". `u8`, `u16`: whole numbers, the largest is "not known". `log16`: unsigned
 * 16-bit codes c; 0 is "not known", else exp(log_low + (c - 1) / 65534 x (log_high - log_low)).
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Packed".
 */
export interface Packed {
  kind: "f32" | "log16" | "u16" | "u8";
  data: string;
  log_low?: number;
  log_high?: number;
}
/**
 * What an hourly price rests on.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "PriceGround".
 */
export interface PriceGround {
  note: string;
  as_of?: string;
  source?: string;
}
/**
 * One group of operations; its times on the GPUs are packed in the StoredView, in this order.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "StoredOperation".
 */
export interface StoredOperation {
  name: string;
  phase: string;
  launches: number;
  share: number;
  here_ms?: number | null;
  source?: string;
  module?: string;
  note?: string;
}
/**
 * A share of the GPU time by some grouping.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "GroupRow".
 */
export interface GroupRow {
  label: string;
  share: number;
  text: string;
}
/**
 * The step on the GPU shown first in another precision, or compiled; without numbers `blocker` says why.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "StoredAlternative".
 */
export interface StoredAlternative {
  precision: string;
  compile: string;
  label: string;
  step_ms?: number | null;
  low_ms?: number | null;
  high_ms?: number | null;
  faster?: number | null;
  memory_gb?: number | null;
  verdict?: number;
  is_shown?: boolean;
  blocker?: string;
}
/**
 * Where the step's memory goes on one GPU: the parts with bytes, and the sums. `measured`: the recorded peak.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "BlockedRow".
 */
export interface BlockedRow {
  gpu: string;
  why: string;
}
/**
 * Shares by knowing the operation's family, by generic fallback, not scaled: of operations, and of time.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * The batch curve of the GPU shown first; columns, f32 unless said.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "StoredCurve".
 */
export interface StoredCurve {
  gpu: string;
  batch_size: Packed;
  step_ms: Packed;
  low_ms: Packed;
  high_ms: Packed;
  memory_gb: Packed;
  verdict: Packed;
  marks: {
    [k: string]: string;
  };
  largest_fitting: number;
}
/**
 * Outcomes by (gpu, batch, precision, compile, count). GPUs are the rows of the view, in their order.
 *
 * `step_ms` log16; `low_ratio`, `high_ratio` log16, times the step; `busy_ratio` too, where it is known. Memory by
 * (gpu, batch, precision), log16; `fit` u8, an index into `fits`. By (gpu, precision): `largest_batch` f32, and
 * `reason` u8, an index into `reasons` where there is no answer.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * The step's GPU time by module path; a node's time holds its children's. Columns, one entry a node.
 *
 * A parent stands before its children; node 0 is the whole step. `left` and `right` place it in [0, 1] by its time at
 * the origin, else on the GPU shown first (`is_measured` says which). `times_ms`: log16, (gpus, nodes).
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "TimelineLane".
 */
export interface TimelineLane {
  key: "gpu" | "host" | "idle" | "input";
  label: string;
}
/**
 * A machine's curve. `columns` and `table` are the rows as a table of words.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
  timeline?: ScalingPiece[];
}
/**
 * One number of GPUs; times are of one step. Without a value: not known.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
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
 * Some work of one step: what, on which lane, from when to when.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "ScalingPiece".
 */
export interface ScalingPiece {
  name: string;
  lane: string;
  start_ms: number;
  end_ms: number;
}
/**
 * Part of a grid.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "GridSlice".
 */
export interface GridSlice {
  kind: "grid";
  id: string;
  prediction: string;
  grid: GridView;
}
/**
 * A window of the step.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "TimelineSlice".
 */
export interface TimelineSlice {
  kind: "timeline";
  id: string;
  prediction: string;
  timeline: TimelineView;
}
/**
 * Rows `first` and on, of `total`.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "OperationsSlice".
 */
export interface OperationsSlice {
  kind: "operations";
  id: string;
  prediction: string;
  gpu: string;
  by: "kind" | "module" | "operation" | "phase";
  first: number;
  total: number;
  lines: OperationLine[];
}
/**
 * One row of the operations table on one GPU. `faster`: origin's time over the time there.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "OperationLine".
 */
export interface OperationLine {
  name: string;
  on_ms: number;
  low_ms: number;
  high_ms: number;
  share: number;
  launches: number;
  limit?: number;
  method?: number;
  phase?: string;
  here_ms?: number | null;
  faster?: number | null;
  source?: string;
  module?: string;
  note?: string;
}
/**
 * Figures, in the order of the page.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Figures".
 */
export interface Figures {
  kind: "figures";
  id: string;
  prediction: string;
  figures: FigureItem[];
}
/**
 * A figure as Bokeh's json_item, and its numbers as a table.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "FigureItem".
 */
export interface FigureItem {
  name: string;
  title: string;
  item: {};
  columns: string[];
  rows: string[][];
}
/**
 * Predictions side by side; `missing`: GPUs that some of them lack.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Comparison".
 */
export interface Comparison {
  kind: "compare";
  id: string;
  entries: Entry[];
  rows: ComparisonRow[];
  missing: string[];
}
/**
 * One GPU: the step in each prediction, ms with low and high; the ratio of the first to each.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "ComparisonRow".
 */
export interface ComparisonRow {
  gpu: string;
  step_ms: [number, number, number][];
  faster: number[];
  usd_per_1000_steps: (number | null)[];
}
/**
 * Whether there was anything left to stop.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Cancelled".
 */
export interface Cancelled {
  kind: "cancelled";
  id: string;
  was_running: boolean;
}
/**
 * It is done; the history after it.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Done".
 */
export interface Done {
  kind: "done";
  id: string;
  entries: Entry[];
}
/**
 * Instead of an answer: what was seen, and what to do. `fault`: of the program itself; `detail` is to be copied.
 *
 * `gpus`: the trace does not say which GPU it was recorded on, and may be asked about again with one of these.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Failure".
 */
export interface Failure {
  kind: "failure";
  id: string;
  error: "cancelled" | "fault" | "refused" | "too-large" | "unknown" | "version";
  seen: string;
  remedy: string;
  detail?: string;
  gpus?: string[];
}
/**
 * How far a request is, before its answer. `total` 0: not known.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Progress".
 */
export interface Progress {
  kind: "progress";
  id: string;
  done: number;
  total: number;
  text: string;
}
/**
 * A prediction was made, or made anew, in this kernel.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Predicted".
 */
export interface Predicted {
  kind: "predicted";
  entry: Entry;
  view: StoredView;
}
/**
 * The grid of a prediction is there; its view in the notebook's output holds it now too.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "GridReady".
 */
export interface GridReady {
  kind: "grid-ready";
  prediction: string;
  grid: GridView;
}
/**
 * A prediction was forgotten.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Forgotten".
 */
export interface Forgotten {
  kind: "forgotten";
  prediction: string;
}
/**
 * How a training run does that is tuned in this kernel: sent anew, whole, as it goes on, and once it has ended.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Training".
 */
export interface Training {
  kind: "training";
  view: TrainingView;
}
/**
 * All of it; a section without rows or points is left out where it is drawn.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "TrainingView".
 */
export interface TrainingView {
  title: string;
  recommendation: string;
  state: "ended" | "failed" | "interrupted" | "planned" | "reached" | "running";
  plan: TableTwin;
  workers: TableTwin;
  trials: TableTwin;
  staleness: number[];
  staleness_geometric: number[];
  staleness_note: string;
  target_loss: number | null;
  curves: LossCurve[];
  decisions: string[];
  notes: string[];
  running?: RunningPhase | null;
  id?: string;
  revision?: number;
  schema_version?: number;
}
/**
 * A figure's numbers as a table.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "TableTwin".
 */
export interface TableTwin {
  columns: string[];
  rows: string[][];
}
/**
 * Loss by wall time of one phase, smoothed over its window.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "LossCurve".
 */
export interface LossCurve {
  label: string;
  role: string;
  seconds: number[];
  loss: number[];
}
/**
 * The phase that is running: `loss` is the mean of its window, None before there is one.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "RunningPhase".
 */
export interface RunningPhase {
  role: string;
  setting: string;
  updates: number;
  seconds: number;
  loss: number | null;
}
/**
 * What is sent: by the front end, by the kernel, and what stays in a notebook.
 *
 * This interface was referenced by `Protocol`'s JSON-Schema
 * via the `definition` "Protocol".
 */
export interface Protocol1 {
  request:
    | AskHello
    | AskHistory
    | AskView
    | AskGrid
    | AskPrice
    | AskTimeline
    | AskOperations
    | AskFigures
    | AskForget
    | AskTrace
    | AskCompare
    | Cancel;
  answer:
    | Hello
    | History
    | ViewAnswer
    | GridSlice
    | TimelineSlice
    | OperationsSlice
    | Figures
    | Comparison
    | Cancelled
    | Done
    | Failure;
  progress: Progress;
  announcement: Predicted | GridReady | Forgotten | Training;
  stored: StoredView;
}
