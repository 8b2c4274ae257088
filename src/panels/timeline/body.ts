// How does one step run in time? Lanes of host and GPU in a window that is moved by buttons; closer up, the kernel is
// asked for finer stretches. Raw events of a large trace never come here.

import { button } from '../../components/controls';
import { element } from '../../components/element';
import { Figure, type IFigureData } from '../../figures/figure';
import { timeUnit } from '../../format';
import type { TimelineView } from '../../generated/protocol';
import type { Change } from '../../selection';
import type { ISectionBody, ISectionContext } from '../section';
import { moved, spansIn, zoomed, type IWindow } from './model';

const ROLES: Readonly<Record<string, string>> = {
  host: 'third',
  input: 'second',
  gpu: 'accent',
  idle: 'idle'
};
const LANE_PX = 34;
const AXES_PX = 60;

/** Draws the timeline of one prediction. */
export class TimelineBody implements ISectionBody {
  constructor(private readonly _context: ISectionContext) {
    const { trans } = _context;
    this._figure = new Figure('timeline', trans.__('One step'), trans);
    this._window = { startMs: 0, endMs: 0 };
    const tool = (
      text: string,
      label: string,
      change: (window: IWindow, stepMs: number) => IWindow
    ) =>
      button(
        'Timeline-tool',
        text,
        () => {
          this._look(change(this._window, this._view?.step_ms ?? 0));
        },
        label
      );
    this._place = element('span', 'Timeline-place');
    this._place.setAttribute('role', 'status');
    this._note = element('p', 'Note');
    const tools = element(
      'div',
      'Timeline-tools',
      tool('◀', trans.__('Earlier'), (window, step) => moved(window, -0.5, step)),
      tool('▶', trans.__('Later'), (window, step) => moved(window, 0.5, step)),
      tool('+', trans.__('Zoom in'), (window, step) => zoomed(window, 0.5, step)),
      tool('−', trans.__('Zoom out'), (window, step) => zoomed(window, 2, step)),
      tool(trans.__('Whole step'), '', (_, step) => ({ startMs: 0, endMs: step })),
      this._place
    );
    tools.setAttribute('role', 'group');
    tools.setAttribute('aria-label', trans.__('Part of the step'));
    this.node = element('div', 'Timeline', tools, this._figure.node, this._note);
  }

  readonly node: HTMLElement;

  get isDisposed(): boolean {
    return this._figure.isDisposed;
  }

  update(change: Change): void {
    const { prediction } = this._context.selection;
    const whole = prediction?.stored.timeline;
    if (change !== 'prediction' || !whole) {
      return;
    }
    this._whole = whole;
    this._view = whole;
    this._window = { startMs: whole.start_ms, endMs: whole.end_ms };
    this._draw();
  }

  dispose(): void {
    this._asked += 1;
    this._figure.dispose();
    this.node.remove();
  }

  private _look(window: IWindow): void {
    this._window = window;
    const whole = this._whole;
    if (!whole) {
      return;
    }
    // what is here is shown at once; finer stretches replace it when they come
    this._view = covers(this._view, window) ? this._view : whole;
    this._draw();
    this._asked += 1;
    const asked = this._asked;
    const pending = this._context.actions.ask({
      kind: 'timeline',
      start_ms: window.startMs,
      end_ms: window.endMs
    });
    pending?.answer
      .then(answer => {
        if (answer.kind === 'timeline' && asked === this._asked) {
          this._view = answer.timeline;
          this._draw();
        }
      })
      .catch(() => {
        // the kernel is gone: the coarser stretches stay
      });
  }

  private _draw(): void {
    const { trans, format } = this._context;
    const view = this._view;
    if (!view) {
      return;
    }
    this._place.textContent = trans.__(
      '%1 to %2 of %3',
      format.duration(this._window.startMs),
      format.duration(this._window.endMs),
      format.duration(view.step_ms)
    );
    this._note.textContent = [
      view.is_measured
        ? trans.__('As recorded on %1.', view.on)
        : trans.__('As predicted on %1.', view.on),
      view.note ?? ''
    ]
      .join(' ')
      .trim();
    this._figure.set(() => this._data(view));
  }

  private _data(view: TimelineView): IFigureData {
    const { trans, format } = this._context;
    const spans = spansIn(view, this._window);
    const unit = timeUnit(view.step_ms);
    const lanes = view.lanes.map(lane => lane.label);
    return {
      description: trans.__(
        '%1 stretches on %2 lanes: %3.',
        format.fixed(spans.length, 0),
        format.fixed(lanes.length, 0),
        lanes.join(', ')
      ),
      sources: {
        spans: {
          left: spans.map(span => span.leftMs / unit.ms),
          right: spans.map(span => span.rightMs / unit.ms),
          lane: spans.map(span => span.lane),
          label: spans.map(span => span.name),
          text: spans.map(span =>
            trans.__(
              '%1: %2, %3 merged, %4 taken',
              span.name,
              format.duration(span.rightMs - span.leftMs),
              format.fixed(span.count, 0),
              format.percent(span.filled)
            )
          ),
          color: spans.map(span => ROLES[span.kind] ?? 'muted')
        }
      },
      factors: [...lanes].reverse(),
      height: AXES_PX + LANE_PX * lanes.length,
      xLabel: trans.__('%1 from the start of the step', unit.name),
      columns: [
        trans.__('Lane'),
        trans.__('From'),
        trans.__('To'),
        trans.__('Mostly'),
        trans.__('Merged'),
        trans.__('Taken')
      ],
      rows: () =>
        spans.map(span => [
          span.lane,
          format.duration(span.leftMs),
          format.duration(span.rightMs),
          span.name,
          format.fixed(span.count, 0),
          format.percent(span.filled)
        ])
    };
  }

  private readonly _figure: Figure;
  private readonly _place: HTMLElement;
  private readonly _note: HTMLElement;
  private _whole: TimelineView | null = null;
  private _view: TimelineView | null = null;
  private _window: IWindow;
  private _asked = 0;
}

function covers(view: TimelineView | null, window: IWindow): boolean {
  return view !== null && view.start_ms <= window.startMs && view.end_ms >= window.endMs;
}
