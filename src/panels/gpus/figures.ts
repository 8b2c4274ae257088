// What do the figures of the GPUs' section show? Step time by GPU with its range; cost against time with the best trade-offs.

import type { IFigureData } from '../../figures/figure';
import { pareto, type IOutcome } from '../../outcome';
import type { Prediction } from '../../prediction';
import type { ISectionContext } from '../section';

const MOST_BARS = 16;
const LINE_PX = 22;
const AXES_PX = 70;

/** Cost of 1,000 steps against the step's time, GPUs with a price. */
export function costTime(
  prediction: Prediction,
  outcomes: readonly IOutcome[],
  context: ISectionContext
): IFigureData {
  const { trans, format, selection } = context;
  const { unit } = prediction;
  const priced = outcomes.filter(one => one.step !== null && one.usdPer1000Steps !== null);
  const best = pareto(priced);
  const front = new Set(best);
  const x = (one: IOutcome): number => (one.step?.value ?? NaN) / unit.ms;
  const y = (one: IOutcome): number => one.usdPer1000Steps?.value ?? NaN;
  const isSelected = (one: IOutcome): boolean => one.gpu.index === selection.gpu;
  const text = (one: IOutcome): string =>
    trans.__(
      '%1: %2, %3 per 1,000 steps',
      one.gpu.name,
      format.time(one.step?.value, unit),
      format.money(y(one))
    );
  return {
    description: trans.__(
      '%1 GPUs with a price; best trade-offs: %2.',
      format.fixed(priced.length, 0),
      best.map(one => one.gpu.name).join(', ')
    ),
    sources: {
      points: {
        x: priced.map(x),
        y: priced.map(y),
        gpu: priced.map(one => one.gpu.name),
        text: priced.map(text),
        marker: priced.map(one =>
          isSelected(one) ? 'diamond' : one.gpu.isOrigin ? 'square' : 'circle'
        ),
        color: priced.map(one =>
          isSelected(one) ? 'second' : front.has(one) || one.gpu.isOrigin ? 'accent' : 'muted'
        ),
        size: priced.map(one => (isSelected(one) ? 14 : front.has(one) ? 10 : 6))
      },
      front: { x: best.map(x), y: best.map(y) }
    },
    xLabel: trans.__('step, %1', unit.name),
    yLabel: trans.__('USD per 1,000 steps'),
    columns: [
      trans.__('GPU'),
      trans.__('Step'),
      trans.__('1,000 steps'),
      trans.__('Best trade-off')
    ],
    rows: () =>
      priced.map(one => [
        one.gpu.name,
        format.time(one.step?.value, unit),
        format.money(y(one)),
        front.has(one) ? trans.__('yes') : ''
      ])
  };
}

/** The step with its range on the first GPUs of the table, and as it was recorded. */
export function stepRange(
  prediction: Prediction,
  outcomes: readonly IOutcome[],
  context: ISectionContext
): IFigureData {
  const { trans, format, selection } = context;
  const { unit, hereMs } = prediction;
  const shown = outcomes.filter(one => one.step !== null).slice(0, MOST_BARS);
  const scaled = (ms: number | undefined): number => (ms ?? NaN) / unit.ms;
  const word = (one: IOutcome): string => format.time(one.step?.value, unit);
  const range = (one: IOutcome): string => format.timeRange(one.step?.low, one.step?.high, unit);
  return {
    description: trans.__(
      'Step time on %1 GPUs, each with its range.',
      format.fixed(shown.length, 0)
    ),
    sources: {
      bars: {
        gpu: shown.map(one => one.gpu.name),
        value: shown.map(one => scaled(one.step?.value)),
        low: shown.map(one => scaled(one.step?.low)),
        high: shown.map(one => scaled(one.step?.high)),
        text: shown.map(one => [word(one), range(one)].filter(Boolean).join(', ')),
        color: shown.map(one =>
          one.gpu.index === selection.gpu ? 'second' : one.gpu.isOrigin ? 'third' : 'accent'
        )
      },
      here: { value: hereMs === null ? [] : [scaled(hereMs)] }
    },
    factors: shown.map(one => one.gpu.name).reverse(),
    height: AXES_PX + LINE_PX * shown.length,
    xLabel: trans.__('step, %1', unit.name),
    columns: [trans.__('GPU'), trans.__('Step'), trans.__('Range')],
    rows: () => shown.map(one => [one.gpu.name, word(one), range(one)])
  };
}
