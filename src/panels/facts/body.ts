// How are ready-made facts shown? Sentences, then tables, then notes.

import { element } from '../../components/element';
import { table } from '../../components/table';
import type { Prediction } from '../../prediction';
import type { Change } from '../../selection';
import type { ISectionBody, ISectionContext } from '../section';
import type { IFacts } from './model';

/** Draws what `facts` finds in the prediction. */
export class FactsBody implements ISectionBody {
  constructor(
    private readonly _context: ISectionContext,
    private readonly _facts: (prediction: Prediction | null) => IFacts | null
  ) {
    this.node = element('div', 'FactsSection');
  }

  readonly node: HTMLElement;
  readonly isDisposed = false;

  update(change: Change): void {
    if (change !== 'prediction') {
      return;
    }
    const facts = this._facts(this._context.selection.prediction);
    this.node.replaceChildren(
      ...(facts?.sentences ?? []).map(text => element('p', 'Summary-sentence', text)),
      ...(facts?.tables ?? []).map(one =>
        element(
          'div',
          'Scroll',
          table(
            one.caption,
            one.columns.map((label, index) => ({
              label,
              isNumber: index > 0,
              cell: (row: readonly string[]) => ({ text: row[index] ?? '' })
            })),
            one.rows
          )
        )
      ),
      ...(facts?.notes ?? []).map(text => element('p', 'Note', text))
    );
  }

  dispose(): void {
    this.node.remove();
  }
}
