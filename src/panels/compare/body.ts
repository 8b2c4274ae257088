// How do two predictions differ, GPU by GPU? Step and cost of each, and how many times as fast the second is.

import { element } from '../../components/element';
import { table } from '../../components/table';
import { fasterText, outcomeOf, type IOutcome } from '../../outcome';
import type { Prediction } from '../../prediction';
import type { Change } from '../../selection';
import type { ICell } from '../../tokens';
import type { ISectionBody, ISectionContext } from '../section';

/** Draws the GPUs that both have, in the order of the first, both as run. */
export class CompareBody implements ISectionBody {
  constructor(private readonly _context: ISectionContext) {
    this.node = element('div', 'Compare');
  }

  readonly node: HTMLElement;
  readonly isDisposed = false;

  update(change: Change): void {
    const { prediction, compared } = this._context.selection;
    if (change === 'gpu' || change === 'setting' || !prediction || !compared) {
      return;
    }
    this.node.replaceChildren(...this._parts(prediction, compared));
  }

  dispose(): void {
    this.node.remove();
  }

  private _parts(first: Prediction, second: Prediction): HTMLElement[] {
    const { trans, format, selection } = this._context;
    const outcome = (prediction: Prediction, place: number): IOutcome | null =>
      outcomeOf(prediction, place, null, selection.prices, trans);
    const rows = first.gpus.flatMap(gpu => {
      const [one, other] = [outcome(first, gpu.index), outcome(second, second.placeOf(gpu.name))];
      return one && other ? [{ gpu: gpu.name, one, other }] : [];
    });
    const step = (prediction: Prediction, one: IOutcome): ICell => ({
      text: format.time(one.step?.value, prediction.unit),
      detail: format.timeRange(one.step?.low, one.step?.high, prediction.unit)
    });
    const cost = (one: IOutcome): ICell => ({ text: format.money(one.usdPer1000Steps?.value) });
    const missing = first.gpus.length - rows.length;
    const scroll = element(
      'div',
      'Scroll',
      table(
        trans.__('%1 and %2', first.stored.name, second.stored.name),
        [
          { label: trans.__('GPU'), cell: row => ({ text: row.gpu }) },
          { label: first.stored.name, isNumber: true, cell: row => step(first, row.one) },
          { label: second.stored.name, isNumber: true, cell: row => step(second, row.other) },
          {
            label: trans.__('Second against first'),
            isNumber: true,
            cell: ({ one, other }) => ({
              text: fasterText(
                one.step && other.step ? one.step.value / other.step.value : null,
                format,
                trans
              )
            })
          },
          {
            label: trans.__('1,000 steps, first'),
            isNumber: true,
            cell: row => cost(row.one)
          },
          {
            label: trans.__('1,000 steps, second'),
            isNumber: true,
            cell: row => cost(row.other)
          }
        ],
        rows
      )
    );
    scroll.tabIndex = 0;
    scroll.setAttribute('role', 'region');
    scroll.setAttribute('aria-label', trans.__('Both predictions on each GPU'));
    return [
      this._heads(first, second),
      scroll,
      ...(missing > 0
        ? [
            element(
              'p',
              'Note',
              trans.__('%1 GPUs are in the first prediction only.', format.fixed(missing, 0))
            )
          ]
        : [])
    ];
  }

  private _heads(first: Prediction, second: Prediction): HTMLElement {
    const head = (one: Prediction): HTMLElement =>
      element(
        'div',
        'Compare-head',
        element('strong', '', one.stored.name),
        element('p', '', one.stored.sentences[0]?.text ?? one.stored.title)
      );
    return element('div', 'Compare-heads', head(first), head(second));
  }
}
