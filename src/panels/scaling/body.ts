// What if it ran on several GPUs? How many, connected by what; the step there, and the curve.

import { select, type ISelect } from '../../components/controls';
import { element } from '../../components/element';
import { evenScale, rangeBar, setRangeBar } from '../../components/range_bar';
import { Figure } from '../../figures/figure';
import { timeUnit } from '../../format';
import type { ScalingRow, ScalingView } from '../../generated/protocol';
import type { Prediction } from '../../prediction';
import type { Change } from '../../selection';
import type { ISectionBody, ISectionContext } from '../section';
import { scalingFigure } from './figure';

/** Draws the curve that was asked about, and the same with other links. */
export class ScalingBody implements ISectionBody {
  constructor(private readonly _context: ISectionContext) {
    const { trans } = _context;
    this._count = select('Scaling-count', trans.__('GPUs'), value => {
      this._gpus = Number(value);
      this._draw();
    });
    this._link = select('Scaling-link', trans.__('Connected by'), value => {
      this._chosenLink = value;
      this._draw();
    });
    this._title = element('p', 'WhatIf-head');
    this._step = element('span', 'WhatIf-step');
    this._range = element('span', 'WhatIf-range');
    this._bar = rangeBar();
    this._facts = element('dl', 'Facts');
    this._notes = element('div', 'Scaling-notes');
    this._legend = trans.__(
      'Bars: the step, hatched where communication hides behind nothing. Line: times the work of one GPU; dashed: if none were lost.'
    );
    this._figure = new Figure('scaling', trans.__('By number of GPUs'), trans, (_, index) => {
      this._gpus = this._view()?.rows[index]?.gpus ?? this._gpus;
      this._draw();
    });
    const outcome = element(
      'div',
      'WhatIf-outcome',
      this._title,
      element('p', 'WhatIf-number', this._step, this._range),
      this._bar,
      this._facts
    );
    outcome.setAttribute('role', 'group');
    outcome.setAttribute('aria-label', trans.__('Outcome on several GPUs'));
    this.node = element(
      'div',
      'Scaling',
      element('div', 'WhatIf-controls', this._count.node, this._link.node),
      outcome,
      this._figure.node,
      this._notes
    );
  }

  readonly node: HTMLElement;

  get isDisposed(): boolean {
    return this._figure.isDisposed;
  }

  update(change: Change): void {
    if (change === 'prediction') {
      this._draw();
    }
  }

  dispose(): void {
    this._figure.dispose();
    this.node.remove();
  }

  private _view(): ScalingView | null {
    const views = viewsOf(this._context.selection.prediction);
    return views.find(view => view.link === this._chosenLink) ?? views[0] ?? null;
  }

  private _draw(): void {
    const { trans, format, selection } = this._context;
    const view = this._view();
    const most = view?.rows[view.rows.length - 1];
    if (!view || !most) {
      return;
    }
    const row = view.rows.find(one => one.gpus === this._gpus) ?? most;
    const views = viewsOf(selection.prediction);
    this._count.set(
      view.rows.map(one => ({ value: String(one.gpus), text: format.fixed(one.gpus, 0) })),
      String(row.gpus)
    );
    this._link.set(
      views.map(one => ({ value: one.link, text: one.link || trans.__('nothing') })),
      view.link
    );
    this._link.node.hidden = views.length < 2;
    const unit = timeUnit(Math.max(...view.rows.map(one => one.step_ms)));
    this._title.textContent = trans.__('%1: %2', view.title, view.link);
    this._step.textContent = format.time(row.step_ms, unit);
    this._range.textContent = format.timeRange(row.low_ms, row.high_ms, unit);
    setRangeBar(
      this._bar,
      { low: row.low_ms, value: row.step_ms, high: row.high_ms },
      evenScale(1.05 * Math.max(...views.flatMap(one => one.rows.map(other => other.high_ms))))
    );
    this._facts.replaceChildren(
      ...this._lines(view, row)
        .filter(([, text]) => text)
        .flatMap(([label, text]) => [element('dt', '', label), element('dd', '', text)])
    );
    this._figure.set(() => scalingFigure(view, row, this._context));
    this._notes.replaceChildren(
      ...[this._legend, ...(view.notes ?? [])].map(text => element('p', 'Note', text))
    );
  }

  private _lines(view: ScalingView, row: ScalingRow): readonly (readonly [string, string])[] {
    const { trans, format } = this._context;
    const unit = timeUnit(row.step_ms);
    const { samples_per_s: rate = null, memory_gb: memory = null } = row;
    const { usd_per_1000_steps: usd = null, verdict = '' } = row;
    return [
      [
        trans.__('Efficiency'),
        trans.__(
          '%1: %2 times the work of one %3',
          format.percent(row.efficiency),
          format.significant(row.gpus * row.efficiency),
          view.gpu
        )
      ],
      [
        trans.__('Communication'),
        row.gpus < 2
          ? ''
          : trans.__(
              '%1 exposed, %2 behind compute; each GPU sends %3 a step',
              format.time(row.exposed_ms, unit),
              format.time(row.hidden_ms, unit),
              format.memory(row.sent_gb)
            )
      ],
      [
        trans.__('Throughput'),
        rate === null ? '' : trans.__('%1 samples/s', format.significant(rate))
      ],
      [
        trans.__('Memory'),
        memory === null ? verdict : trans.__('%1 on each: %2', format.memory(memory), verdict)
      ],
      [trans.__('1,000 steps'), usd === null ? '' : trans.__('%1, all GPUs', format.money(usd))]
    ];
  }

  private readonly _count: ISelect;
  private readonly _link: ISelect;
  private readonly _title: HTMLElement;
  private readonly _step: HTMLElement;
  private readonly _range: HTMLElement;
  private readonly _bar: HTMLElement;
  private readonly _facts: HTMLElement;
  private readonly _notes: HTMLElement;
  private readonly _legend: string;
  private readonly _figure: Figure;
  private _gpus = NaN;
  private _chosenLink = '';
}

// the one that was asked about first
function viewsOf(prediction: Prediction | null): readonly ScalingView[] {
  const { scaling, scaling_links = [] } = prediction?.stored ?? {};
  return scaling ? [scaling, ...scaling_links] : [];
}
