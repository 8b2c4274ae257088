// What does a reader see first? The measured step, the sentences, warnings; then how it was predicted, folded.

import { element } from '../../components/element';
import { table } from '../../components/table';
import type { Prediction } from '../../prediction';
import type { Change } from '../../selection';
import type { ISectionBody, ISectionContext } from '../section';

/** Draws the summary of one prediction. */
export class SummaryBody implements ISectionBody {
  constructor(private readonly _context: ISectionContext) {
    this.node = element('div', 'Summary');
  }

  readonly node: HTMLElement;
  readonly isDisposed = false;

  update(change: Change): void {
    if (change !== 'prediction' && change !== 'gpu') {
      return;
    }
    const { prediction } = this._context.selection;
    const wasOpen = this.node.querySelector('details')?.open ?? false;
    this.node.replaceChildren(...(prediction ? this._parts(prediction) : []));
    const details = this.node.querySelector('details');
    if (details) {
      details.open = wasOpen;
    }
  }

  dispose(): void {
    this.node.remove();
  }

  private _parts(prediction: Prediction): HTMLElement[] {
    const { stored } = prediction;
    const sentences = stored.sentences.map(sentence => {
      const made = element('p', 'Summary-sentence');
      made.dataset['role'] = sentence.role;
      if (sentence.label) {
        made.append(element('strong', 'Summary-label', sentence.label), ' ');
      }
      made.append(sentence.text);
      return made;
    });
    return [
      ...sentences,
      ...stored.warnings.map(text => element('p', 'Warning', text)),
      this._grounds(prediction)
    ];
  }

  private _grounds(prediction: Prediction): HTMLElement {
    const { trans, format, selection } = this._context;
    const { stored } = prediction;
    const gpu = prediction.gpus[selection.gpu];
    const methods = (gpu?.methods ?? []).map(
      method => `${format.percent(method.share)} ${method.label}`
    );
    const environment = Object.entries(stored.environment).map(([name, version]) =>
      `${name} ${version}`.trim()
    );
    const facts: readonly (readonly [string, string])[] = [
      [trans.__('Recorded'), stored.here?.how ?? ''],
      [gpu ? trans.__('On %1', gpu.name) : trans.__('Methods'), methods.join(', ')],
      [trans.__('Coverage'), stored.coverage?.text ?? ''],
      [trans.__('Ranges'), stored.range_note],
      [trans.__('Accuracy'), (stored.accuracy ?? []).join(' ')],
      [trans.__('Prices'), stored.price_note],
      [trans.__('Assumed'), stored.assumptions.join(' ')],
      [trans.__('Recorded with'), environment.join(', ')],
      [trans.__('To repeat it'), stored.command],
      [trans.__('Made by'), `surfer-lab ${stored.version}`]
    ];
    const details = element(
      'details',
      'Summary-grounds',
      element('summary', '', trans.__('How this was predicted'))
    );
    const list = element('dl', 'Facts');
    for (const [label, text] of facts) {
      if (text) {
        list.append(element('dt', '', label), element('dd', '', text));
      }
    }
    details.append(list);
    const { memory } = stored;
    if (memory) {
      details.append(
        element(
          'div',
          'Scroll',
          table(
            trans.__('Memory on %1', memory.gpu),
            [
              { label: trans.__('Part'), cell: row => ({ text: row.label }) },
              {
                label: trans.__('Likely'),
                isNumber: true,
                cell: row => ({ text: row.amount.text, detail: row.amount.range_text ?? '' })
              },
              { label: trans.__('From'), cell: row => ({ text: row.source }) }
            ],
            memory.parts
          )
        )
      );
    }
    const blocked = stored.blocked ?? [];
    if (blocked.length > 0) {
      details.append(
        element(
          'div',
          'Scroll',
          table(
            trans.__('GPUs without an answer'),
            [
              { label: trans.__('GPU'), cell: row => ({ text: row.gpu }) },
              { label: trans.__('Why not'), cell: row => ({ text: row.why }) }
            ],
            blocked
          )
        )
      );
    }
    return details;
  }
}
