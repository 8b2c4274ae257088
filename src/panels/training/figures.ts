// What do the figures of a training run show? Loss by wall time, phase by phase; updates by their staleness.

import type { TranslationBundle } from '@jupyterlab/translation';

import type { Columns, IFigureData } from '../../figures/figure';
import type { NumberFormat } from '../../format';
import type { LossCurve, TrainingView } from '../../generated/protocol';

const KEPT = 'epoch';

/** Loss by wall time; null before there is a loss. */
export function lossFigure(
  view: TrainingView,
  trans: TranslationBundle,
  format: NumberFormat
): IFigureData | null {
  const curves = view.curves.map(positive).filter(curve => curve.loss.length > 0);
  if (curves.length === 0) {
    return null;
  }
  const { target_loss: target } = view;
  const roles: Readonly<Record<string, string>> = {
    probe: trans.__('measuring'),
    trial: trans.__('trial'),
    [KEPT]: trans.__('training')
  };
  const named = (curve: LossCurve): string =>
    trans.__('%1: %2', roles[curve.role] ?? curve.role, curve.label);
  const columns = (isKept: boolean): Columns => {
    const shown = curves.filter(curve => (curve.role === KEPT) === isKept);
    return {
      xs: shown.map(curve => curve.seconds),
      ys: shown.map(curve => curve.loss),
      text: shown.map(named)
    };
  };
  const lowest = Math.min(...curves.flatMap(curve => curve.loss));
  return {
    description: trans.__(
      'Loss of %1 phases, training solid and trials dashed, down to %2.',
      format.fixed(curves.length, 0),
      format.significant(lowest)
    ),
    sources: {
      kept: columns(true),
      trials: columns(false),
      target: { loss: target !== null && target > 0 ? [target] : [] }
    },
    columns: [trans.__('Phase'), trans.__('Wall time, s'), trans.__('Loss')],
    rows: () =>
      curves.flatMap(curve =>
        curve.seconds.map((second, index) => [
          named(curve),
          format.significant(second),
          format.significant(curve.loss[index] ?? NaN)
        ])
      )
  };
}

/** Updates by staleness beside the geometric distribution; null where there is nothing to count. */
export function stalenessFigure(
  view: TrainingView,
  trans: TranslationBundle,
  format: NumberFormat
): IFigureData | null {
  const { staleness: counts, staleness_geometric: geometric, staleness_note: note } = view;
  if (counts.length === 0) {
    return null;
  }
  const lags = counts.map((_, lag) => lag);
  return {
    description: note,
    sources: {
      bars: {
        lag: lags,
        count: counts,
        geometric: lags.map(lag => geometric[lag] ?? 0),
        text: lags.map(lag =>
          trans.__(
            'Staleness %1: %2 updates, %3 if geometric',
            format.fixed(lag, 0),
            format.fixed(counts[lag] ?? 0, 0),
            format.significant(geometric[lag] ?? 0)
          )
        )
      }
    },
    columns: [trans.__('Staleness'), trans.__('Updates'), trans.__('If geometric')],
    rows: () =>
      lags.map(lag => [
        format.fixed(lag, 0),
        format.fixed(counts[lag] ?? 0, 0),
        format.significant(geometric[lag] ?? 0)
      ])
  };
}

// the axis is logarithmic
function positive(curve: LossCurve): LossCurve {
  const kept = curve.loss.flatMap((loss, index) => (loss > 0 ? [index] : []));
  return {
    ...curve,
    seconds: kept.map(index => curve.seconds[index] ?? 0),
    loss: kept.map(index => curve.loss[index] ?? 0)
  };
}
