// What does a prediction look like below its cell? Sentences, the table of GPUs, warnings, the costliest operations.

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { element } from '../../components/element';
import { table } from '../../components/table';
import type { ViewModel } from '../../generated/view_model';
import type { IColumn, IReadable, IUnreadable } from '../../tokens';
import {
  alternativeColumns,
  blockedColumns,
  gpuColumns,
  groundsColumns,
  memoryColumns,
  operationColumns
} from './columns';

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
    this._drawFolded(view);
    const notes = [
      view.range_note,
      view.alternatives_note ?? '',
      view.price_note,
      ...view.assumptions,
      note
    ].filter(text => text);
    this.node.append(...notes.map(text => element('p', 'Output-note', text)));
  }

  private _drawFolded(view: ViewModel): void {
    const trans = this._trans;
    const fold = <Row>(
      part: string,
      caption: string,
      columns: readonly IColumn<Row>[],
      rows: readonly Row[]
    ): void => {
      if (rows.length > 0) {
        this.node.append(folded(`Output-${part}`, table(caption, columns, rows)));
      }
    };
    const { operations, rows, alternatives = [], memory, blocked = [] } = view;
    fold('blocked', trans.__('GPUs without an answer'), blockedColumns(trans), blocked);
    fold(
      'operations',
      trans.__('Costliest operations of a step'),
      operationColumns(trans, view),
      operations
    );
    fold(
      'alternatives',
      trans.__('In another precision, or compiled'),
      alternativeColumns(trans, alternatives),
      alternatives
    );
    if (memory) {
      fold('memory', trans.__('Memory on %1', memory.gpu), memoryColumns(trans), memory.parts);
    }
    fold(
      'grounds',
      trans.__('Where prices, memory and times come from'),
      groundsColumns(trans),
      rows
    );
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
