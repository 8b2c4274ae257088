// What does a prediction look like below its cell? Sentences, the table of GPUs, warnings, the costliest operations.

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { element } from '../../components/element';
import { table } from '../../components/table';
import type { GpuRow, OperationRow, Quantity, ViewModel } from '../../generated/view_model';
import type { ICell, IColumn, IReadable, IUnreadable } from '../../tokens';

const UNKNOWN = '–';

/** Draws one prediction; the GPU table starts with the short list and opens to all on a button. */
export class PredictionBody extends Widget {
  constructor(prediction: IReadable | IUnreadable, trans: TranslationBundle) {
    super();
    this.addClass('jp-SurferOutput');
    this._trans = trans;
    if (prediction.kind === 'unreadable') {
      const refusal = element('p', 'Output-refusal', prediction.reason);
      refusal.setAttribute('role', 'alert');
      this.node.append(refusal);
      return;
    }
    this._view = prediction.view;
    this._draw(prediction.view, prediction.note);
  }

  override dispose(): void {
    this._button?.removeEventListener('click', this._toggle);
    super.dispose();
  }

  private _draw(view: ViewModel, note: string): void {
    const trans = this._trans;
    const summary = element('section', 'Output-summary', ...view.sentences.map(sentenceElement));
    summary.setAttribute('aria-label', trans.__('Summary'));
    this._gpus = element('div', 'Output-gpus');
    this.node.append(
      summary,
      ...view.warnings.map(text => element('p', 'Output-warning', text)),
      this._gpus
    );
    if (view.rows.some(row => !view.shortlist.includes(row.gpu))) {
      this._button = element('button', 'Output-more');
      this._button.type = 'button';
      this._button.addEventListener('click', this._toggle);
      this.node.append(this._button);
    }
    this._drawGpus();
    if (view.operations.length > 0) {
      const columns = operationColumns(trans, view);
      const caption = trans.__('Costliest operations of a step');
      this.node.append(folded('Output-operations', table(caption, columns, view.operations)));
    }
    const grounds = trans.__('Where prices, memory and times come from');
    this.node.append(folded('Output-grounds', table(grounds, groundsColumns(trans), view.rows)));
    const notes = [view.range_note, view.price_note, ...view.assumptions, note].filter(
      text => text
    );
    this.node.append(...notes.map(text => element('p', 'Output-note', text)));
  }

  private _drawGpus(): void {
    const { _view: view, _trans: trans } = this;
    if (!view || !this._gpus) {
      return;
    }
    const rows = this._showsAll
      ? view.rows
      : view.rows.filter(row => view.shortlist.includes(row.gpu));
    this._gpus.replaceChildren(
      table(
        trans.__('One step on each GPU'),
        gpuColumns(trans, view),
        rows,
        row => row.is_origin === true
      )
    );
    if (this._button) {
      this._button.textContent = this._showsAll
        ? trans.__('Show the short list')
        : trans.__('Show all %1 GPUs', view.rows.length);
      this._button.setAttribute('aria-expanded', String(this._showsAll));
    }
  }

  private readonly _toggle = (): void => {
    this._showsAll = !this._showsAll;
    this._drawGpus();
  };

  private readonly _trans: TranslationBundle;
  private _view: ViewModel | null = null;
  private _gpus: HTMLElement | null = null;
  private _button: HTMLButtonElement | null = null;
  private _showsAll = false;
}

// Folded by the browser's own control; the table's caption is what is seen when it is closed.
function folded(className: string, content: HTMLTableElement): HTMLElement {
  const summary = element('summary', '', content.caption?.textContent ?? '');
  return element('details', className, summary, content);
}

function sentenceElement(sentence: ViewModel['sentences'][number]): HTMLElement {
  const made = element('p', 'Output-sentence');
  if (sentence.label) {
    made.append(element('strong', '', `${sentence.label}: `));
  }
  made.append(sentence.text);
  made.dataset['role'] = sentence.role;
  return made;
}

// Not known and not sent are the same to a reader: an en dash, never a zero.
function quantityCell(quantity: Quantity | null | undefined): ICell {
  const text = quantity?.text ?? UNKNOWN;
  const detail = quantity?.range_text;
  return detail ? { text, detail } : { text };
}

function gpuColumns(trans: TranslationBundle, view: ViewModel): IColumn<GpuRow>[] {
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

function groundsColumns(trans: TranslationBundle): IColumn<GpuRow>[] {
  return [
    { label: trans.__('GPU'), cell: row => ({ text: row.gpu }) },
    { label: trans.__('Price'), cell: row => ({ text: row.price_note ?? UNKNOWN }) },
    { label: trans.__('Source'), cell: row => ({ text: row.price_source ?? UNKNOWN }) },
    { label: trans.__('Memory needed'), cell: row => ({ text: row.memory_note ?? UNKNOWN }) },
    { label: trans.__('Predicted by'), cell: row => ({ text: row.methods_text }) }
  ];
}

function operationColumns(trans: TranslationBundle, view: ViewModel): IColumn<OperationRow>[] {
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
