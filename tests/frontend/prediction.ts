// A prediction as the kernel sends it, small: two GPUs, one operation. Tests change what they are about.

import type { GpuRow, Quantity, ViewModel } from '../../src/generated/view_model';

export function quantity(text: string, range = ''): Quantity {
  return { text, unit: 'ms', range_text: range };
}

export function gpuRow(gpu: string, step: string, changes: Partial<GpuRow> = {}): GpuRow {
  return {
    gpu,
    vendor: 'NVIDIA',
    architecture: 'Ampere',
    release_year: 2020,
    memory: quantity('80 GB'),
    memory_note: '10 GB needed',
    verdict: 'fits',
    step: quantity(step, '40 to 60 ms'),
    busy: quantity(step),
    faster: quantity('2.0x faster'),
    usd_per_hour: quantity('$1.50'),
    usd_per_1000_steps: quantity('$0.02'),
    bound: 'compute bound',
    parts_ms: [],
    methods: {},
    methods_text: 'wave scaling 100 %',
    price_note: 'median of 3 offers',
    ...changes
  };
}

export function prediction(changes: Partial<ViewModel> = {}): ViewModel {
  return {
    schema_version: 1,
    name: 'step',
    title: 'Training step',
    sentences: [{ role: 'step', label: '', text: 'Training step: 126 ms on your Tesla V100.' }],
    here: null,
    choices: [],
    rows: [gpuRow('A100 SXM4 80GB', '50 ms'), gpuRow('Tesla V100', '126 ms', { is_origin: true })],
    shortlist: ['A100 SXM4 80GB'],
    shows_all: false,
    shows_busy: false,
    focus: 'A100 SXM4 80GB',
    operations: [
      {
        name: 'aten::convolution',
        phase: 'forward',
        launches_text: '53 launches',
        here: quantity('30 ms'),
        share: 0.3,
        share_text: '30 %',
        on_ms: [12, 30],
        on_text: ['12 ms', '30 ms'],
        on_range: ['10 to 14 ms', ''],
        on_share_text: ['30 %', '30 %'],
        on_limit: [0, 0],
        on_method: [0, 1]
      }
    ],
    families: [],
    phases: [],
    figures: [],
    part_labels: [],
    limit_labels: ['compute'],
    method_labels: ['wave scaling', 'measured'],
    warnings: [],
    assumptions: [],
    range_note: 'Ranges hold 80 % of measured cases.',
    price_note: '',
    environment: {},
    command: 'surfer predict trace.json',
    version: '0.1.0',
    ...changes
  };
}
