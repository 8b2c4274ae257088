// How does a training run do that is tuned? What is recommended, its phases, plan, figures and decisions: drawn anew as it
// goes on, and only what has changed, so that a reader keeps place and focus.

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';

import { keepsKeys, select, type ISelect } from '../../components/controls';
import { element } from '../../components/element';
import { table } from '../../components/table';
import { Figure } from '../../figures/figure';
import type { NumberFormat } from '../../format';
import type { TableTwin, TrainingView } from '../../generated/protocol';
import type { ITraining } from '../../sources/trainings';
import { lossFigure, stalenessFigure } from './figures';

/** The section of the panel; it is no prediction's, and there without one. */
export class TrainingSection implements IDisposable {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _format: NumberFormat
  ) {
    this._run = select('Training-run', _trans.__('Run'), id => {
      this._chosen = id;
      this._choose();
    });
    this._head = element('p', 'WhatIf-head');
    this._recommendation = element('p', 'Training-recommendation');
    this._recommendation.setAttribute('role', 'status');
    this._running = element('p', 'Training-running');
    this._trials = new Rows(_trans.__('Phases, in their order'));
    this._plan = new Rows(_trans.__('Plan by number of groups'));
    this._workers = new Rows(_trans.__('Workers, by what was measured'));
    this._loss = new Figure('loss_by_time', _trans.__('Loss by wall time'), _trans);
    this._staleness = new Figure('staleness', _trans.__('Staleness of updates'), _trans);
    this._decisionCount = keepsKeys(element('summary', 'Training-summary'));
    this._decisions = element('ol', 'Training-decisions');
    this._decided = element('details', 'Training-decided', this._decisionCount, this._decisions);
    this._notes = element('div', 'Training-notes');
    this.node = element(
      'details',
      'Section',
      keepsKeys(element('summary', 'Section-title', _trans.__('Training to a target loss'))),
      this._run.node,
      element('div', 'WhatIf-outcome', this._head, this._recommendation, this._running),
      this._loss.node,
      this._trials.node,
      this._plan.node,
      this._staleness.node,
      this._workers.node,
      this._decided,
      this._notes
    );
    this.node.dataset['section'] = 'training';
    this.node.open = true;
    this.node.addEventListener('toggle', this._draw);
  }

  readonly node: HTMLDetailsElement;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Show how the runs do now: the newest (the last), or the one that was chosen since that came. */
  update(trainings: readonly ITraining[]): void {
    const newest = trainings[trainings.length - 1]?.view.id ?? null;
    if (newest !== this._newest) {
      this._newest = newest;
      this._chosen = null; // a new run is what its maker wants to see
    }
    this._trainings = trainings;
    this._choose();
  }

  dispose(): void {
    this._isDisposed = true;
    this.node.removeEventListener('toggle', this._draw);
    this._loss.dispose();
    this._staleness.dispose();
    this.node.remove();
  }

  private _choose(): void {
    const trainings = this._trainings;
    const shown =
      trainings.find(({ view }) => view.id === this._chosen) ??
      trainings[trainings.length - 1] ??
      null;
    this._run.node.hidden = trainings.length < 2;
    this._run.set(
      trainings.map(({ view, isLive }, index) => ({
        value: view.id ?? '',
        text: `${String(index + 1)}: ${headText(view, isLive, this._trans)}`
      })),
      shown?.view.id ?? ''
    );
    if (shown !== this._shown) {
      this._shown = shown;
      this._draw();
    }
  }

  private readonly _draw = (): void => {
    this.node.hidden = this._shown === null;
    if (!this._shown || !this.node.open) {
      return;
    }
    const { view, isLive } = this._shown;
    const { _trans: trans, _format: format } = this;
    write(this._head, headText(view, isLive, trans));
    write(this._recommendation, view.recommendation);
    write(this._running, isLive ? this._runningText(view) : '');
    this._running.hidden = this._running.textContent === '';
    this._trials.set(view.trials);
    this._plan.set(view.plan);
    this._workers.set(view.workers);
    const loss = lossFigure(view, trans, format);
    this._loss.node.hidden = loss === null;
    this._loss.set(() => loss);
    const staleness = stalenessFigure(view, trans, format);
    this._staleness.node.hidden = staleness === null;
    this._staleness.set(() => staleness);
    this._drawDecisions(view.decisions);
    const notes = [view.staleness_note, ...view.notes].filter(Boolean);
    if (notes.join('\n') !== this._noted) {
      this._noted = notes.join('\n');
      this._notes.replaceChildren(...notes.map(text => element('p', 'Note', text)));
    }
  };

  private _runningText({ running = null }: TrainingView): string {
    const { _trans: trans, _format: format } = this;
    if (!running) {
      return '';
    }
    return trans.__(
      'Now %1, %2: %3 updates in %4 s, loss %5',
      running.role,
      running.setting,
      format.fixed(running.updates, 0),
      format.fixed(running.seconds, 0),
      running.loss === null ? '–' : format.significant(running.loss)
    );
  }

  private _drawDecisions(decisions: readonly string[]): void {
    this._decided.hidden = decisions.length === 0;
    const told = decisions.join('\n');
    if (told !== this._decidedText) {
      this._decidedText = told;
      this._decisionCount.textContent = this._trans._n(
        '%1 decision, with its reason',
        '%1 decisions, with their reasons',
        decisions.length
      );
      this._decisions.replaceChildren(...decisions.map(text => element('li', '', text)));
    }
  }

  private readonly _run: ISelect;
  private readonly _head: HTMLElement;
  private readonly _recommendation: HTMLElement;
  private readonly _running: HTMLElement;
  private readonly _trials: Rows;
  private readonly _plan: Rows;
  private readonly _workers: Rows;
  private readonly _loss: Figure;
  private readonly _staleness: Figure;
  private readonly _decided: HTMLElement;
  private readonly _decisionCount: HTMLElement;
  private readonly _decisions: HTMLElement;
  private readonly _notes: HTMLElement;
  private _trainings: readonly ITraining[] = [];
  private _newest: string | null = null;
  private _chosen: string | null = null;
  private _shown: ITraining | null = null;
  private _decidedText = '';
  private _noted = '';
  private _isDisposed = false;
}

// A table in a box that scrolls, left alone where nothing has changed.
class Rows {
  constructor(private readonly _caption: string) {
    this.node = element('div', 'Scroll');
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', _caption);
    this.node.hidden = true;
  }

  readonly node: HTMLElement;

  set({ columns, rows }: TableTwin): void {
    const key = JSON.stringify([columns, rows]);
    this.node.hidden = rows.length === 0;
    if (key === this._key) {
      return;
    }
    this._key = key;
    this.node.replaceChildren(
      table(
        this._caption,
        columns.map((label, index) => ({
          label,
          isNumber: index > 0,
          cell: (row: readonly string[]) => ({ text: row[index] ?? '' })
        })),
        rows
      )
    );
  }

  private _key = '';
}

// what is read aloud when it changes must not be written again where it does not
function write(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

function headText(view: TrainingView, isLive: boolean, trans: TranslationBundle): string {
  return trans.__('%1: %2', view.title, stateText(view, isLive, trans));
}

function stateText(view: TrainingView, isLive: boolean, trans: TranslationBundle): string {
  const texts: Record<TrainingView['state'], string> = {
    planned: trans.__('planned'),
    running: isLive
      ? trans.__('running')
      : trans.__('not finished when this was saved, or its kernel ended'),
    reached: trans.__('target loss reached'),
    ended: trans.__('ended without the target loss'),
    interrupted: trans.__('interrupted'),
    failed: trans.__('failed')
  };
  return texts[view.state];
}
