// Are numbers read as they were packed, and outcomes chosen as they were computed?

import { fasterText, outcomeOf, pareto } from '../../src/outcome';
import { unpack } from '../../src/packed';
import { Prediction } from '../../src/prediction';
import { Preferences } from '../../src/preferences';
import { Selection } from '../../src/selection';
import { DEMOS, floats, format, GRID, small, trans, view } from './demo';

const preferences = new Preferences();

describe('packed numbers', () => {
  it('keep floats and whole numbers, and know what is not known', () => {
    expect([...unpack(floats(1.5, -2, NaN))]).toEqual([1.5, -2, NaN]);
    expect([...unpack(small(0, 7, 255))]).toEqual([0, 7, NaN]);
    expect([...unpack({ kind: 'u16', data: btoa('\x01\x02\xff\xff') })]).toEqual([513, NaN]);
  });

  it('spread log codes evenly by ratio', () => {
    const packed = {
      kind: 'log16',
      data: btoa('\x01\x00\xff\xff\x00\x00'),
      log_low: 0,
      log_high: Math.log(1000)
    } as const;
    const [low, high, unknown] = unpack(packed);
    expect(low).toBeCloseTo(1);
    expect(high).toBeCloseTo(1000);
    expect(unknown).toBeNaN();
  });

  it('refuse half a number', () => {
    expect(() => unpack({ kind: 'f32', data: btoa('abc') })).toThrow(RangeError);
  });
});

describe.each(Object.entries(DEMOS))('the recorded prediction %s', (_, stored) => {
  const prediction = new Prediction(stored);

  it('has ranges around its numbers, and parts that make up each step', () => {
    for (const gpu of prediction.gpus) {
      expect(gpu.step.low).toBeLessThanOrEqual(gpu.step.value * 1.0001);
      expect(gpu.step.high).toBeGreaterThanOrEqual(gpu.step.value * 0.9999);
      const sum = gpu.partsMs.reduce((total, part) => total + part, 0);
      expect(sum / gpu.step.value).toBeCloseTo(1, 2);
      expect(gpu.methods.reduce((total, method) => total + method.share, 0)).toBeCloseTo(1, 2);
    }
  });

  it('has its own numbers at its own place of the grid', () => {
    const grid = prediction.grid;
    expect(grid).not.toBeNull();
    for (const gpu of prediction.gpus) {
      const step = grid?.step(gpu.index, grid.own);
      expect((step?.value ?? NaN) / gpu.step.value).toBeCloseTo(1, 3);
    }
  });

  it('has operations that name a limit and a method on every GPU', () => {
    for (const gpu of prediction.gpus) {
      for (const operation of prediction.operationsOn(gpu.index)) {
        expect(stored.method_labels).toContain(operation.method);
        expect(stored.limit_labels).toContain(operation.limit);
      }
    }
  });
});

describe('an outcome', () => {
  const prediction = new Prediction(view());
  const at = { batch: 1, precision: 1, compile: 0, count: 0 };

  it('is the row itself as it was asked', () => {
    const outcome = outcomeOf(prediction, 0, null, preferences, trans);
    expect(outcome?.step).toEqual({ value: 10, low: 8, high: 12 });
    expect(outcome?.samplesPerS).toBe(800);
  });

  it('is the row itself at its own place, though the grid has another range there', () => {
    const own = { batch: 0, precision: 0, compile: 0, count: 0 };
    expect(outcomeOf(prediction, 0, own, preferences, trans)?.step?.low).toBe(8);
  });

  it('is chosen from the grid elsewhere', () => {
    const outcome = outcomeOf(prediction, 0, at, preferences, trans);
    expect(outcome?.step).toEqual({ value: 10, low: 5, high: 20 });
    expect(outcome?.batchSize).toBe(16);
    expect(outcome?.samplesPerS).toBe(1600);
    expect(outcome?.memoryGb).toBe(6);
    expect(outcome?.memoryHighGb).toBe(7);
  });

  it('costs price times hours, and nothing is known without a price', () => {
    expect(outcomeOf(prediction, 0, at, preferences, trans)?.usdPer1000Steps?.value).toBeCloseTo(
      3 * (10_000 / 3_600_000)
    );
    expect(outcomeOf(prediction, 1, null, preferences, trans)?.usdPer1000Steps).toBeNull();
  });

  it('says why there is none', () => {
    const outcome = outcomeOf(prediction, 1, at, preferences, trans);
    expect(outcome?.step).toBeNull();
    expect(outcome?.blocker).toBe('no units for it');
  });

  it('counts an epoch in whole steps', () => {
    const sized = new Prediction(view({ dataset_size: 100 }));
    expect(outcomeOf(sized, 0, null, preferences, trans)?.epochMs).toBe(130); // 13 steps of 8
  });

  it('knows nothing of a GPU that is not there', () => {
    expect(outcomeOf(prediction, 7, null, preferences, trans)).toBeNull();
  });
});

describe('one more batch size', () => {
  const slice = {
    ...GRID,
    batch_sizes: [12],
    step_ms: floats(15, 7, 30, NaN),
    low_ratio: floats(1, 1, 1, 1),
    high_ratio: floats(1, 1, 1, 1),
    memory_gb: floats(6, 4, 6, NaN),
    memory_high_gb: floats(7, 5, 7, NaN),
    fit: small(0, 0, 0, 1)
  };

  it('stands in its place, and all others stay what they were', () => {
    const grid = new Prediction(view()).withBatches(slice).grid;
    expect(grid?.view.batch_sizes).toEqual([8, 12, 16]);
    const steps = [0, 1].flatMap(gpu =>
      [0, 1, 2].map(batch => grid?.step(gpu, { batch, precision: 0, compile: 0, count: 0 })?.value)
    );
    expect(steps).toEqual([10, 15, 20, 20, 30, 40]);
    expect(grid?.memory(0, { batch: 1, precision: 1, compile: 0, count: 0 })?.likely).toBe(4);
    expect(grid?.verdict(1, { batch: 2, precision: 0, compile: 0, count: 0 })).toBe('does not fit');
  });

  it('moves no slider that stands on another', () => {
    const selection = new Selection(new Preferences(), trans);
    const prediction = new Prediction(view());
    selection.show(prediction);
    selection.choose({ batch: 1 });
    selection.show(prediction.withBatches(slice));
    expect(selection.outcome?.batchSize).toBe(16);
  });

  it('is not taken from a slice with other axes', () => {
    const other = { ...slice, precisions: ['fp32', 'amp'] };
    expect(new Prediction(view()).withBatches(other).grid?.view.batch_sizes).toEqual([8, 16]);
  });
});

it.each([
  [3.71, '3.71x faster'],
  [0.5, '2.00x slower'],
  [1.004, 'equally fast'],
  [null, '–']
])('a ratio of %p reads %j', (ratio, text) => {
  expect(fasterText(ratio, format, trans)).toBe(text);
});

it('keeps those GPUs as trade-offs that no other beats in both', () => {
  const selection = new Selection(preferences, trans);
  selection.show(new Prediction(DEMOS['resnet50'] ?? view()));
  const best = pareto(selection.outcomes);
  const beaten = (one: (typeof best)[number]): boolean =>
    selection.outcomes.some(
      other =>
        (other.step?.value ?? Infinity) < (one.step?.value ?? 0) &&
        (other.usdPer1000Steps?.value ?? Infinity) < (one.usdPer1000Steps?.value ?? 0)
    );
  expect(best.length).toBeGreaterThan(1);
  expect(best.some(beaten)).toBe(false);
});

describe('the selection', () => {
  const made = (): { selection: Selection; heard: string[] } => {
    const selection = new Selection(new Preferences(), trans);
    const heard: string[] = [];
    selection.changed.connect((_, change) => heard.push(change));
    selection.show(new Prediction(view()));
    return { selection, heard };
  };

  it('starts as it was asked, on the GPU shown first', () => {
    const { selection } = made();
    expect(selection.setting).toBeNull();
    expect(selection.outcome?.gpu.name).toBe('H100');
  });

  it('is as asked again when the sliders are back at their start', () => {
    const { selection } = made();
    selection.choose({ batch: 1 });
    expect(selection.setting).not.toBeNull();
    selection.choose({ batch: 0 });
    expect(selection.setting).toBeNull();
  });

  it('keeps GPU and setting when the same prediction comes again, by name', () => {
    const { selection } = made();
    selection.selectGpu(1);
    selection.choose({ batch: 1 });
    selection.show(new Prediction(view()));
    expect(selection.outcome?.gpu.name).toBe('L4');
    expect(selection.setting?.batch).toBe(1);
    selection.show(new Prediction(view({ provenance: { id: 'other' } })));
    expect(selection.setting).toBeNull();
  });

  it('tells what has changed, and nothing after it is disposed of', () => {
    const { selection, heard } = made();
    selection.selectGpu(1);
    selection.choose({ batch: 1 });
    selection.preferences.togglePin('L4');
    expect(heard).toEqual(['prediction', 'gpu', 'setting', 'preferences']);
    selection.dispose();
    selection.preferences.togglePin('L4');
    expect(heard.length).toBe(4);
  });

  it('does not move where there is no grid', () => {
    const selection = new Selection(new Preferences(), trans);
    selection.show(new Prediction(view({ grid: null })));
    selection.choose({ batch: 1 });
    expect(selection.setting).toBeNull();
  });
});
