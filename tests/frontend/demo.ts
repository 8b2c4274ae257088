// Predictions as kernels send them: recorded ones of src/demo, and a small one that tests change. And what draws them.

import { nullTranslator } from '@jupyterlab/translation';

import doesNotFit from '../../src/demo/does_not_fit.json';
import profilerTrace from '../../src/demo/profiler_trace.json';
import resnet50 from '../../src/demo/resnet50.json';
import { NumberFormat } from '../../src/format';
import type { GridView, Packed, StoredView } from '../../src/generated/protocol';
import type { ISectionContext } from '../../src/panels/section';
import { Prediction } from '../../src/prediction';
import { Preferences } from '../../src/preferences';
import { Selection } from '../../src/selection';

export const trans = nullTranslator.load('');
export const format = new NumberFormat('en-US');

export const DEMOS: Readonly<Record<string, StoredView>> = {
  resnet50: resnet50 as unknown as StoredView,
  profilerTrace: profilerTrace as unknown as StoredView,
  doesNotFit: doesNotFit as unknown as StoredView
};
export const RESNET = DEMOS['resnet50'] as StoredView;
export const TRACE = DEMOS['profilerTrace'] as StoredView;

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

export function floats(...values: number[]): Packed {
  return { kind: 'f32', data: base64(new Uint8Array(Float32Array.from(values).buffer)) };
}

export function small(...values: number[]): Packed {
  return { kind: 'u8', data: base64(Uint8Array.from(values)) };
}

/** Two GPUs, batches 8 and 16, as run and AMP; L4 twice as slow as H100, AMP twice as fast, 16 twice the work. */
export const GRID: GridView = {
  batch_sizes: [8, 16],
  precisions: ['as-run', 'amp'],
  precision_labels: ['as run', 'AMP'],
  compiles: ['off'],
  compile_labels: ['not compiled'],
  counts: [1],
  own: [0, 0, 0, 0],
  step_ms: floats(10, 5, 20, 10, 20, NaN, 40, NaN),
  low_ratio: floats(...Array<number>(8).fill(0.5)),
  high_ratio: floats(...Array<number>(8).fill(2)),
  memory_gb: floats(4, 3, 8, 6, 4, NaN, 30, NaN),
  memory_high_gb: floats(5, 4, 9, 7, 5, NaN, 33, NaN),
  fit: small(0, 0, 0, 0, 0, 1, 2, 1),
  fits: ['fits', 'not known', 'does not fit'],
  largest_batch: floats(16, 16, 8, NaN),
  reason: small(255, 255, 255, 0),
  reasons: ['no units for it']
};

/** A prediction of H100 at $3 an hour and L4 without a price, one operation. */
export function view(changes: Partial<StoredView> = {}): StoredView {
  return {
    schema_version: 2,
    provenance: { id: 'one', made_at: '2026-05-01T12:00:00+00:00' },
    name: 'step',
    title: 'Training step, batch 8',
    sentences: [{ role: 'step', label: 'Here', text: 'Training step: 40 ms on your Tesla V100.' }],
    here: null,
    choices: [],
    rows: {
      gpu: ['H100', 'L4'],
      vendor: small(0, 0),
      architecture: small(0, 1),
      release_year: {
        kind: 'u16',
        data: base64(new Uint8Array(Uint16Array.from([2022, 2023]).buffer))
      },
      memory_gb: floats(80, 24),
      verdict: small(0, 0),
      step_ms: floats(10, 20),
      low_ms: floats(8, 15),
      high_ms: floats(12, 30),
      busy_ms: floats(9, 19),
      parts_ms: floats(9, 1, 19, 1),
      bound: small(0, 0),
      method_share: floats(1, NaN, NaN, 1),
      usd_per_hour: floats(3, NaN),
      sold_by: small(1, 1),
      price: small(0, 255),
      spot_usd_per_hour: floats(1, NaN),
      spot_price: small(1, 255)
    },
    shortlist: [0],
    shows_all: false,
    focus: 0,
    shows_busy: false,
    time_unit: 'ms',
    vendors: ['NVIDIA'],
    architectures: ['Hopper', 'Ada'],
    verdicts: ['fits'],
    bounds: ['compute bound'],
    prices: [
      { note: 'median of 5 offers, on demand, 2026-05', as_of: '2026-05', source: 'a list' },
      { note: 'spot, 2026-05', as_of: '2026-05', source: 'a list' }
    ],
    part_labels: ['GPU busy', 'waiting'],
    limit_labels: ['–', 'compute'],
    method_labels: ['wave scaling', 'roofline'],
    operations: [
      {
        name: 'aten::mm',
        phase: 'forward',
        launches: 4,
        share: 0.6,
        here_ms: 20,
        source: 'In[3]:7'
      },
      { name: 'aten::add', phase: 'backward', launches: 2, share: 0.4, here_ms: 10 }
    ],
    operation_ms: floats(5, 4, 10, 8),
    operation_low_ms: floats(4, 3, 9, 7),
    operation_high_ms: floats(6, 5, 12, 9),
    operation_kind: small(1, 17, 1, 17),
    families: [{ label: 'matrix product', share: 0.6, text: '60 %' }],
    phases: [{ label: 'forward', share: 0.6, text: '60 %' }],
    warnings: [],
    assumptions: [],
    range_note: 'Ranges hold 80 % of measured cases.',
    price_note: '',
    environment: { torch: '2.13.0' },
    command: '%%predict',
    version: '0.1.0',
    batch_size: 8,
    grid: GRID,
    ...changes
  };
}

/** What a section draws with, showing this view. */
export function context(
  shown: StoredView,
  actions: Partial<ISectionContext['actions']> = {}
): ISectionContext {
  const selection = new Selection(new Preferences(), trans);
  selection.show(new Prediction(shown));
  return { trans, format, selection, actions: { ask: () => null, ...actions } };
}

export function texts(node: ParentNode, selector: string): string[] {
  return [...node.querySelectorAll(selector)].map(one => one.textContent);
}
