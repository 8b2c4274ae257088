// What does the figure of several GPUs show? The step by their number, its exposed communication on top, and the
// throughput over one GPU's beside the ideal.

import type { IFigureData } from '../../figures/figure';
import { timeUnit } from '../../format';
import type { ScalingRow, ScalingView } from '../../generated/protocol';
import type { ISectionContext } from '../section';

/** The curve of one link; the row looked at is marked. */
export function scalingFigure(
  view: ScalingView,
  looked: ScalingRow,
  { trans, format }: ISectionContext
): IFigureData {
  const { rows } = view;
  const unit = timeUnit(Math.max(...rows.map(row => row.step_ms)));
  const ms = (value: number): number => value / unit.ms;
  const names = rows.map(row => format.fixed(row.gpus, 0));
  const last = rows[rows.length - 1] ?? looked;
  return {
    description: trans.__(
      'Step and throughput by number of GPUs, up to %1: %2 efficient there, %3 of the step exposed communication.',
      format.fixed(last.gpus, 0),
      format.percent(last.efficiency),
      format.time(last.exposed_ms, unit)
    ),
    sources: {
      bars: {
        gpus: names,
        compute: rows.map(row => ms(row.compute_ms)),
        step: rows.map(row => ms(row.step_ms)),
        low: rows.map(row => ms(row.low_ms)),
        high: rows.map(row => ms(row.high_ms)),
        speedup: rows.map(row => row.gpus * row.efficiency),
        ideal: rows.map(row => row.gpus),
        text: rows.map((row, index) =>
          trans.__(
            '%1 GPUs: %2 (%3), %4 of it exposed communication, efficiency %5',
            names[index] ?? '',
            format.time(row.step_ms, unit),
            format.timeRange(row.low_ms, row.high_ms, unit),
            format.time(row.exposed_ms, unit),
            format.percent(row.efficiency)
          )
        )
      },
      chosen: { gpus: [format.fixed(looked.gpus, 0)] }
    },
    factors: names,
    xLabel: view.link ? trans.__('GPUs, %1', view.link) : trans.__('GPUs'),
    yLabel: trans.__('step, %1', unit.name),
    columns: view.columns,
    rows: () => view.table
  };
}
