// How is a setting said? "batch 256, AMP, compiled"; null is "as run".

import type { TranslationBundle } from '@jupyterlab/translation';

import type { NumberFormat } from '../format';
import type { ISetting, Prediction } from '../prediction';

/** The setting in words. */
export function settingText(
  prediction: Prediction,
  setting: ISetting | null,
  format: NumberFormat,
  trans: TranslationBundle
): string {
  const grid = prediction.grid?.view;
  if (!setting || !grid) {
    return trans.__('as run');
  }
  const batch = grid.batch_sizes[setting.batch];
  const count = grid.counts[setting.count] ?? 1;
  return [
    batch === undefined ? '' : trans.__('batch %1', format.fixed(batch, 0)),
    grid.precision_labels[setting.precision] ?? '',
    grid.compile_labels[setting.compile] ?? '',
    count > 1 ? trans.__('%1 GPUs', format.fixed(count, 0)) : ''
  ]
    .filter(Boolean)
    .join(', ');
}
