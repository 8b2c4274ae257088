// Which numbers stand in which column? One list of columns a table; a column nobody has anything for is left out.

import type { TranslationBundle } from '@jupyterlab/translation';

import type {
  AlternativeRow,
  BlockedRow,
  GpuRow,
  MemoryPartRow,
  OperationRow,
  Quantity,
  ViewModel
} from '../../generated/view_model';
import type { ICell, IColumn } from '../../tokens';

const UNKNOWN = '–';

// Not known and not sent are the same to a reader: an en dash, never a zero.
function quantityCell(quantity: Quantity | null | undefined): ICell {
  const text = quantity?.text ?? UNKNOWN;
  const detail = quantity?.range_text;
  return detail ? { text, detail } : { text };
}

/** The step on each GPU. */
export function gpuColumns(trans: TranslationBundle, view: ViewModel): IColumn<GpuRow>[] {
  const quantity = (
    label: string,
    of: (row: GpuRow) => Quantity | null | undefined
  ): IColumn<GpuRow> => ({ label, isNumber: true, cell: row => quantityCell(of(row)) });
  const columns: IColumn<GpuRow>[] = [
    {
      label: trans.__('GPU'),
      cell: row =>
        row.is_origin ? { text: row.gpu, detail: trans.__('recorded here') } : { text: row.gpu }
    },
    quantity(trans.__('Step'), row => row.step),
    ...(view.shows_busy ? [quantity(trans.__('GPU busy'), (row: GpuRow) => row.busy)] : []),
    quantity(trans.__('Against here'), row => row.faster),
    quantity(trans.__('Samples/s'), row => row.samples_per_s),
    quantity(trans.__('Price'), row => row.usd_per_hour),
    quantity(trans.__('1,000 steps'), row => row.usd_per_1000_steps),
    quantity(trans.__('This cell'), row => row.cell),
    {
      label: trans.__('Memory'),
      isNumber: true,
      cell: row => ({ text: row.memory.text, detail: row.verdict })
    },
    { label: trans.__('Bound by'), cell: row => ({ text: row.bound }) }
  ];
  return filled(columns, view.rows);
}

// Without the columns that no row has anything for: samples without a batch size, here without a GPU here.
function filled<Row>(columns: readonly IColumn<Row>[], rows: readonly Row[]): IColumn<Row>[] {
  return columns.filter(column => rows.some(row => ![UNKNOWN, ''].includes(column.cell(row).text)));
}

/** What the numbers of each GPU rest on. */
export function groundsColumns(trans: TranslationBundle): IColumn<GpuRow>[] {
  return [
    { label: trans.__('GPU'), cell: row => ({ text: row.gpu }) },
    { label: trans.__('Price'), cell: row => ({ text: row.price_note ?? UNKNOWN }) },
    { label: trans.__('Source'), cell: row => ({ text: row.price_source ?? UNKNOWN }) },
    { label: trans.__('Memory needed'), cell: row => ({ text: row.memory_note ?? UNKNOWN }) },
    { label: trans.__('Predicted by'), cell: row => ({ text: row.methods_text }) }
  ];
}

/** The costliest operations, here and on the GPU in focus. */
export function operationColumns(
  trans: TranslationBundle,
  view: ViewModel
): IColumn<OperationRow>[] {
  const focus = view.rows.findIndex(row => row.gpu === view.focus);
  const columns: IColumn<OperationRow>[] = [
    { label: trans.__('Operation'), cell: row => ({ text: row.name }) },
    { label: trans.__('Launches'), isNumber: true, cell: row => ({ text: row.launches_text }) },
    { label: trans.__('Phase'), cell: row => ({ text: row.phase }) },
    { label: trans.__('Here'), isNumber: true, cell: row => ({ text: row.here.text }) },
    { label: trans.__('Share'), isNumber: true, cell: row => ({ text: row.share_text }) }
  ];
  if (focus >= 0) {
    const named = (labels: readonly string[], index: number | undefined): string =>
      labels[index ?? -1] ?? UNKNOWN;
    columns.push(
      {
        label: view.focus,
        isNumber: true,
        cell: row => ({ text: row.on_text[focus] ?? UNKNOWN, detail: row.on_range[focus] ?? '' })
      },
      {
        label: trans.__('Limited by'),
        cell: row => ({ text: named(view.limit_labels, row.on_limit[focus]) })
      },
      {
        label: trans.__('Predicted by'),
        cell: row => ({ text: named(view.method_labels, row.on_method[focus]) })
      }
    );
  }
  return filled(columns, view.operations);
}

/** The step in other precisions, plain and compiled. */
export function alternativeColumns(
  trans: TranslationBundle,
  rows: readonly AlternativeRow[]
): IColumn<AlternativeRow>[] {
  return filled(
    [
      { label: trans.__('What if'), cell: row => ({ text: row.label }) },
      { label: trans.__('Step'), isNumber: true, cell: row => quantityCell(row.step) },
      { label: trans.__('Against as run'), isNumber: true, cell: row => quantityCell(row.faster) },
      {
        label: trans.__('Memory'),
        isNumber: true,
        cell: row => ({ text: row.memory.text, detail: row.verdict })
      },
      { label: trans.__('Not possible because'), cell: row => ({ text: row.blocker ?? '' }) }
    ],
    rows
  );
}

/** Where the step's memory goes. */
export function memoryColumns(trans: TranslationBundle): IColumn<MemoryPartRow>[] {
  return [
    { label: trans.__('Part'), cell: row => ({ text: row.label }) },
    { label: trans.__('Likely'), isNumber: true, cell: row => quantityCell(row.amount) },
    { label: trans.__('From'), cell: row => ({ text: row.source }) }
  ];
}

/** GPUs without an answer. */
export function blockedColumns(trans: TranslationBundle): IColumn<BlockedRow>[] {
  return [
    { label: trans.__('GPU'), cell: row => ({ text: row.gpu }) },
    { label: trans.__('Why not'), cell: row => ({ text: row.why }) }
  ];
}
