// Which numbers stand in the table of GPUs? One entry a column: how it sorts, and what it says.

import type { TranslationBundle } from '@jupyterlab/translation';

import { UNKNOWN, type NumberFormat } from '../../format';
import { fasterText, type IOutcome } from '../../outcome';
import type { Prediction } from '../../prediction';
import type { ICell } from '../../tokens';

/** A column of outcomes. */
export interface IGpuColumn {
  readonly key: string;
  readonly label: string;
  readonly isNumber: boolean;
  /** What rows are ordered by; null: not known. */
  readonly sort: (row: IOutcome) => number | string | null;
  readonly cell: (row: IOutcome) => ICell;
}

/** The columns that this prediction has anything for. GPU, step and price have drawings of their own in the table. */
export function gpuColumns(
  prediction: Prediction,
  format: NumberFormat,
  trans: TranslationBundle
): IGpuColumn[] {
  const { stored, unit } = prediction;
  const columns: readonly (IGpuColumn & { readonly isThere?: boolean })[] = [
    {
      key: 'gpu',
      label: trans.__('GPU'),
      isNumber: false,
      sort: row => row.gpu.name,
      cell: row => ({
        text: row.gpu.name,
        detail: [
          format.memory(row.gpu.memoryGb),
          row.gpu.architecture,
          row.gpu.isOrigin ? trans.__('recorded here') : ''
        ]
          .filter(Boolean)
          .join(' · ')
      })
    },
    {
      key: 'step',
      label: trans.__('Step'),
      isNumber: true,
      sort: row => row.step?.value ?? null,
      cell: row =>
        row.step
          ? {
              text: format.time(row.step.value, unit),
              detail: format.timeRange(row.step.low, row.step.high, unit)
            }
          : { text: UNKNOWN, detail: row.blocker }
    },
    {
      key: 'cost',
      label: trans.__('1,000 steps'),
      isNumber: true,
      sort: row => row.usdPer1000Steps?.value ?? null,
      cell: row => ({ text: format.money(row.usdPer1000Steps?.value) })
    },
    {
      key: 'price',
      label: trans.__('An hour'),
      isNumber: true,
      sort: row => row.price.usdPerHour,
      cell: row => ({
        text: format.money(row.price.usdPerHour),
        detail: row.price.isTried
          ? trans.__('tried')
          : row.price.isOwn
            ? trans.__('yours')
            : row.gpu.soldBy > 1 && row.price.usdPerHour !== null
              ? trans.__('for %1', format.fixed(row.gpu.soldBy, 0))
              : ''
      })
    },
    {
      key: 'memory',
      label: trans.__('Memory'),
      isNumber: true,
      sort: row => row.memoryGb,
      cell: row => ({
        text: row.verdict,
        detail:
          row.memoryGb === null
            ? ''
            : trans.__('%1 of %2', format.memory(row.memoryGb), format.memory(row.gpu.memoryGb))
      })
    },
    {
      key: 'rate',
      label: trans.__('Samples/s'),
      isNumber: true,
      isThere: stored.batch_size !== null && stored.batch_size !== undefined,
      sort: row => row.samplesPerS,
      cell: row => ({
        text: row.samplesPerS === null ? UNKNOWN : format.significant(row.samplesPerS)
      })
    },
    {
      key: 'faster',
      label: trans.__('Against here'),
      isNumber: true,
      isThere: prediction.gpus.some(gpu => gpu.faster !== null),
      sort: row => fasterThanHere(row),
      cell: row => ({ text: fasterText(fasterThanHere(row), format, trans) })
    },
    {
      key: 'busy',
      label: trans.__('GPU busy'),
      isNumber: true,
      isThere: stored.shows_busy,
      sort: row => row.gpu.busyMs,
      cell: row => ({ text: format.time(row.gpu.busyMs, unit), detail: trans.__('as run') })
    },
    {
      key: 'epoch',
      label: trans.__('Epoch'),
      isNumber: true,
      isThere: Boolean(stored.dataset_size),
      sort: row => row.epochMs,
      cell: row => ({
        text: format.duration(row.epochMs),
        detail: row.usdPerEpoch === null ? '' : format.money(row.usdPerEpoch)
      })
    },
    {
      key: 'cell',
      label: trans.__('This cell'),
      isNumber: true,
      isThere: prediction.gpus.some(gpu => gpu.cellS !== null),
      sort: row => row.gpu.cellS?.value ?? null,
      cell: row => ({
        text: format.duration(row.gpu.cellS === null ? null : 1000 * row.gpu.cellS.value),
        detail: trans.__('as run')
      })
    },
    {
      key: 'bound',
      label: trans.__('Bound by'),
      isNumber: false,
      sort: row => row.gpu.bound,
      cell: row => ({ text: row.gpu.bound })
    },
    {
      key: 'method',
      label: trans.__('Predicted by'),
      isNumber: false,
      sort: row => row.gpu.methods[0]?.label ?? null,
      cell: row => ({
        text: row.gpu.methods
          .slice(0, 2)
          .map(method => `${format.percent(method.share)} ${method.label}`)
          .join(', ')
      })
    }
  ];
  return columns.filter(column => column.isThere !== false);
}

// The kernel's ratio is of the step as run; another setting's step is held against the same recorded step.
function fasterThanHere(row: IOutcome): number | null {
  const { faster, step } = row.gpu;
  return faster === null || row.step === null ? null : (faster * step.value) / row.step.value;
}
