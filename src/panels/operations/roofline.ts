// How near does each operation come to what the GPU sustains? Rate against intensity, under the roofs of its arithmetic.

import type { IFigureData } from '../../figures/figure';
import { unpack } from '../../packed';
import type { Prediction } from '../../prediction';
import type { ISectionContext } from '../section';

const MS_PER_S = 1000;
const GFLOP_PER_TFLOP = 1000;
const SMALLEST_PX = 5;
const LARGEST_PX = 22;

/** The scatter on the GPU looked at; null where no operation's work is known. */
export function rooflineFigure(
  prediction: Prediction,
  context: ISectionContext
): IFigureData | null {
  const { trans, format, selection } = context;
  const view = prediction.stored.roofline;
  if (!view) {
    return null;
  }
  const gflop = unpack(view.gflop);
  const gbyte = unpack(view.gbyte);
  const classOf = unpack(view.rate_class);
  const roofs = unpack(view.tflop_per_s);
  const gbPerS = unpack(view.gb_per_s)[selection.gpu] ?? NaN;
  const operations = prediction.operationsOn(selection.gpu);
  const longest = Math.max(...operations.map(one => one.on.value || 0));
  const points = operations.flatMap(operation => {
    const flop = gflop[operation.index] ?? NaN;
    const bytes = gbyte[operation.index] ?? NaN;
    return flop > 0 && bytes > 0 && operation.on.value > 0
      ? [
          {
            operation,
            intensity: flop / bytes,
            tflopPerS: (flop / GFLOP_PER_TFLOP / operation.on.value) * MS_PER_S,
            kind: view.classes[classOf[operation.index] ?? -1] ?? ''
          }
        ]
      : [];
  });
  if (points.length === 0) {
    return null;
  }
  const kinds = new Set(points.map(point => point.kind));
  const [least, most] = [
    Math.min(...points.map(point => point.intensity)) / 2,
    2 * Math.max(...points.map(point => point.intensity))
  ];
  const lines = view.classes.flatMap((name, index) => {
    const peak = roofs[selection.gpu * view.classes.length + index] ?? NaN;
    if (!kinds.has(name) || !(peak > 0) || !(gbPerS > 0)) {
      return [];
    }
    const ridge = (peak * GFLOP_PER_TFLOP) / gbPerS;
    const slope = (at: number): number => (at * gbPerS) / GFLOP_PER_TFLOP;
    const xs = [least, Math.min(Math.max(ridge, least), most), most];
    return [{ name, xs, ys: xs.map(x => Math.min(peak, slope(x))) }];
  });
  const gpu = prediction.gpus[selection.gpu]?.name ?? '';
  return {
    description: trans.__(
      'Reached TFLOP/s against flop per byte of %1 operation groups on %2.',
      format.fixed(points.length, 0),
      gpu
    ),
    sources: {
      points: {
        x: points.map(point => point.intensity),
        y: points.map(point => point.tflopPerS),
        name: points.map(point => point.operation.name),
        text: points.map(point =>
          trans.__(
            '%1: %2 TFLOP/s at %3 flop per byte, %4, limited by %5',
            point.operation.name,
            format.significant(point.tflopPerS),
            format.significant(point.intensity),
            format.duration(point.operation.on.value),
            point.operation.limit
          )
        ),
        size: points.map(
          point =>
            SMALLEST_PX + (LARGEST_PX - SMALLEST_PX) * Math.sqrt(point.operation.on.value / longest)
        ),
        color: points.map(point => (point.operation.limit === 'compute' ? 'second' : 'accent'))
      },
      roofs: {
        xs: lines.map(line => line.xs),
        ys: lines.map(line => line.ys),
        name: lines.map(line => line.name)
      }
    },
    xLabel: trans.__('flop per byte'),
    yLabel: trans.__('TFLOP/s'),
    columns: [
      trans.__('Operation'),
      trans.__('Flop per byte'),
      trans.__('TFLOP/s'),
      trans.__('Time'),
      trans.__('Limited by')
    ],
    rows: () =>
      points.map(point => [
        point.operation.name,
        format.significant(point.intensity),
        format.significant(point.tflopPerS),
        format.duration(point.operation.on.value),
        point.operation.limit
      ])
  };
}
