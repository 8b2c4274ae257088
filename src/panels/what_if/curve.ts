// What does the batch-size curve show? Step, throughput and memory by batch size on the GPU looked at, what fits marked.

import type { IFigureData } from '../../figures/figure';
import { UNKNOWN } from '../../format';
import { outcomeOf } from '../../outcome';
import type { Prediction } from '../../prediction';
import type { ISectionContext } from '../section';

/** Whether there is more than one batch size to draw a curve through. */
export function hasCurve(prediction: Prediction): boolean {
  return (prediction.grid?.view.batch_sizes.length ?? 0) > 1;
}

/** The curve at the precision and compile mode chosen; null where there is one batch size only. */
export function batchCurve(context: ISectionContext): IFigureData | null {
  const { trans, format, selection } = context;
  const { prediction } = selection;
  const grid = prediction?.grid;
  const gpu = prediction?.gpus[selection.gpu];
  if (!prediction || !grid || !gpu || grid.view.batch_sizes.length < 2) {
    return null;
  }
  const { unit } = prediction;
  const at = selection.setting ?? grid.start;
  const points = grid.view.batch_sizes.flatMap((batch, place) => {
    const outcome = outcomeOf(
      prediction,
      gpu.index,
      { ...at, batch: place },
      selection.prices,
      trans
    );
    return outcome?.step ? [{ batch, place, outcome, step: outcome.step }] : [];
  });
  const largest = grid.largestBatch(gpu.index, at.precision);
  const text = ({ batch, outcome, step }: (typeof points)[number]): string =>
    [
      trans.__('batch %1: %2', format.fixed(batch, 0), format.time(step.value, unit)),
      outcome.samplesPerS === null
        ? ''
        : trans.__('%1 samples/s', format.significant(outcome.samplesPerS)),
      outcome.memoryGb === null ? '' : format.memory(outcome.memoryGb),
      outcome.verdict
    ]
      .filter(Boolean)
      .join(', ');
  return {
    description: trans.__(
      'Step, samples a second and memory by batch size on %1. %2',
      gpu.name,
      largest === null ? '' : trans.__('Up to %1 fit.', format.fixed(largest, 0))
    ),
    sources: {
      points: {
        batch: points.map(one => one.batch),
        step: points.map(one => one.step.value / unit.ms),
        low: points.map(one => one.step.low / unit.ms),
        high: points.map(one => one.step.high / unit.ms),
        rate: points.map(one => one.outcome.samplesPerS ?? NaN),
        memory: points.map(one => one.outcome.memoryGb ?? NaN),
        text: points.map(text)
      },
      limits: { batch: largest ? [largest] : [] },
      capacity: { memory: [gpu.memoryGb] },
      chosen: { batch: points.filter(one => one.place === at.batch).map(one => one.batch) }
    },
    xLabel: trans.__('batch size'),
    yLabel: trans.__('step, %1', unit.name),
    columns: [
      trans.__('Batch size'),
      trans.__('Step'),
      trans.__('Range'),
      trans.__('Samples/s'),
      trans.__('Memory'),
      trans.__('Fits')
    ],
    rows: () =>
      points.map(({ batch, outcome, step }) => [
        format.fixed(batch, 0),
        format.time(step.value, unit),
        format.timeRange(step.low, step.high, unit),
        outcome.samplesPerS === null ? UNKNOWN : format.significant(outcome.samplesPerS),
        format.memory(outcome.memoryGb),
        outcome.verdict
      ])
  };
}
