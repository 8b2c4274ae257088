// What does the panel show? The predictions of what is looked at; one of them in sections; or a state and what to do.

import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { button, select, type ISelect } from '../../components/controls';
import { element } from '../../components/element';
import type { NumberFormat } from '../../format';
import { Selection, type Change } from '../../selection';
import type { IEntry } from '../../sources/entries';
import type { ISource, IWork } from '../../sources/source';
import type { IFollowed } from '../../sources/sources';
import type { IFailure, IPreferences } from '../../tokens';
import type { ISectionContext } from '../section';
import { SectionView, updateAll } from '../section_view';
import { SECTIONS } from '../sections';
import { TrainingSection } from '../training/section';
import { stateOf, type Action, type IPlainState } from './states';

/** What the panel can ask of JupyterLab. */
export interface IPanelCommands {
  readonly openExample: () => void;
  readonly openTrace: () => void;
  readonly openSettings: (() => void) | null;
  readonly openInMain: (() => void) | null;
}

/** The panel, in a sidebar or a tab. */
export class PanelBody extends Widget {
  constructor(
    private readonly _followed: IFollowed,
    preferences: IPreferences,
    private readonly _trans: TranslationBundle,
    format: NumberFormat,
    private readonly _commands: IPanelCommands
  ) {
    super();
    this.addClass('jp-SurferPanel');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', _trans.__('Surfer Lab'));
    this.selection = new Selection(preferences, _trans);
    this._context = {
      trans: _trans,
      format,
      selection: this.selection,
      actions: {
        ask: question => {
          const shown = this._shown;
          const link = this._source?.link;
          return shown?.isLive && link?.state === 'connected'
            ? link.ask({ ...question, prediction: shown.id })
            : null;
        }
      }
    };
    this._entry = select('Panel-entry', _trans.__('Prediction'), id => {
      if (this._source) {
        this._source.chosen = id;
        this._draw();
      }
    });
    this._other = select('Panel-other', _trans.__('Compare with'), id => {
      if (this._source) {
        this._source.compared = id || null;
        this._draw();
      }
    });
    this._heading = element('span', 'Panel-source');
    const tools = element(
      'div',
      'Panel-tools',
      this._heading,
      button(
        'Panel-tool',
        _trans.__('Trace …'),
        _commands.openTrace,
        _trans.__('Open a trace file')
      ),
      ...(_commands.openInMain
        ? [button('Panel-tool', _trans.__('Tab'), _commands.openInMain, _trans.__('Open as a tab'))]
        : []),
      ...(_commands.openSettings
        ? [button('Panel-tool', _trans.__('Settings'), _commands.openSettings)]
        : [])
    );
    this._choices = element('div', 'Panel-choices', this._entry.node, this._other.node);
    this._notices = element('div', 'Panel-notices');
    this._notices.setAttribute('role', 'status');
    this._state = element('div', 'State');
    this._state.setAttribute('role', 'status');
    this._sections = element('div', 'Panel-sections');
    this.node.append(tools, this._choices, this._notices, this._state, this._sections);
    this.selection.changed.connect(this._onSelection, this);
    _followed.changed.connect(this._onFollowed, this);
  }

  readonly selection: Selection;

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    cancelAnimationFrame(this._frame);
    this._leave();
    this._followed.changed.disconnect(this._onFollowed, this);
    this.selection.changed.disconnect(this._onSelection, this);
    this._dropViews();
    this._training?.dispose();
    this.selection.dispose();
    this._followed.dispose();
    super.dispose();
  }

  protected override onBeforeShow(message: Message): void {
    super.onBeforeShow(message);
    this._onFollowed();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._onFollowed();
    }
  }

  // Nothing is looked at before the panel is seen: notebooks of people who never open it hold no comm.
  private _onFollowed(): void {
    const source = this._followed.source;
    if (source !== this._source) {
      this._leave();
      this._source = source;
      source?.changed.connect(this._onSource, this);
    }
    this._draw();
  }

  private _leave(): void {
    this._source?.changed.disconnect(this._onSource, this);
    this._source = null;
  }

  private _onSource(): void {
    if (this._source?.isDisposed) {
      this._leave();
    }
    this._draw();
  }

  private _draw(): void {
    const source = this._source;
    const entries = source?.entries ?? [];
    const chosen = entries.find(one => one.id === source?.chosen) ?? source?.newest ?? null;
    if (chosen && !chosen.prediction) {
      source?.fetch(chosen.id);
    }
    this._shown = chosen;
    const compared = entries.find(one => one.id === source?.compared && one.id !== chosen?.id);
    if (compared && !compared.prediction) {
      source?.fetch(compared.id);
    }
    this._heading.textContent = source?.label ?? this._trans.__('Surfer Lab');
    this._heading.title = this._heading.textContent;
    this._drawChoices(entries, chosen, compared ?? null);
    this._context = this._withReveal(source, chosen);
    const prediction = chosen?.prediction ?? null;
    this.selection.compareWith(compared?.prediction ?? null);
    this.selection.show(prediction);
    this._drawNotices(source, chosen);
    this._drawTraining(source);
    this._sections.hidden = prediction === null;
    if (!prediction) {
      const state = stateOf(source, this._trans);
      // with a training run to look at, nobody need be told how to begin
      this._state.hidden = (source?.trainings ?? []).length > 0 && !state.failure && !state.work;
      this._drawState(state);
    } else {
      this._state.hidden = true;
    }
    if (prediction && this._views.length === 0) {
      this._views = SECTIONS.map(section => new SectionView(section, this._context));
      this._sections.append(...this._views.map(view => view.node));
      this._update('prediction');
    }
  }

  private _drawTraining(source: ISource | null): void {
    const trainings = source?.trainings ?? [];
    if (trainings.length > 0 && !this._training) {
      this._training = new TrainingSection(this._trans, this._context.format);
      this._sections.before(this._training.node);
    }
    this._training?.update(trainings);
  }

  // the sections hold one context for their life: what it can do follows what is looked at
  private _withReveal(source: ISource | null, chosen: IEntry | null): ISectionContext {
    const actions = this._context.actions as {
      -readonly [Name in 'reveal' | 'addBatch']: ISectionContext['actions'][Name];
    };
    actions.addBatch =
      source && chosen?.isLive && source.link?.state === 'connected'
        ? size => source.addBatch(chosen.id, size)
        : undefined;
    actions.reveal =
      source?.reveal && chosen
        ? line => {
            source.reveal?.(line, chosen.id);
          }
        : undefined;
    return this._context;
  }

  private _drawChoices(
    entries: readonly IEntry[],
    chosen: IEntry | null,
    compared: IEntry | null
  ): void {
    this._choices.hidden = entries.length === 0;
    const options = [...entries].reverse().map(one => ({
      value: one.id,
      text: [one.name, timeText(one.madeAt)].filter(Boolean).join(', ')
    }));
    this._entry.set(options, chosen?.id ?? '');
    this._other.node.hidden = entries.length < 2;
    this._other.set(
      [
        { value: '', text: this._trans.__('nothing') },
        ...options.filter(option => option.value !== chosen?.id)
      ],
      compared?.id ?? ''
    );
  }

  private _drawNotices(source: ISource | null, chosen: IEntry | null): void {
    const trans = this._trans;
    const { state = 'none', isBusy = false } = source?.link ?? {};
    const notices: string[] = [];
    if (chosen?.prediction) {
      if (isBusy) {
        notices.push(trans.__('The kernel is running a cell. Everything here works meanwhile.'));
      } else if (state === 'dead' || state === 'none') {
        notices.push(trans.__('No kernel: this is what was saved. Everything saved works.'));
      } else if (state === 'mismatched') {
        notices.push(
          trans.__('The kernel has another version of surfer-lab: only what was saved is shown.')
        );
      }
      if (source?.failure) {
        notices.push(`${source.failure.what} ${source.failure.why}`.trim());
      }
      notices.push(...(source?.unreadable ?? []));
      if (chosen.note) {
        notices.push(chosen.note);
      }
    }
    const now = [...this._notices.children].map(child => child.textContent);
    if (now.join('\n') !== notices.join('\n')) {
      this._notices.replaceChildren(...notices.map(text => element('p', 'Notice', text)));
    }
  }

  private _drawState(state: IPlainState): void {
    const key = JSON.stringify({ ...state, work: null });
    if (key === this._stateKey && state.work) {
      this._drawWork(state.work);
      return;
    }
    if (key === this._stateKey) {
      return; // drawn as it is: a focused button stays
    }
    this._stateKey = key;
    const trans = this._trans;
    this._state.dataset['state'] = state.kind;
    this._state.replaceChildren(
      element('p', 'State-title', state.title),
      ...(state.text ? [element('p', 'State-text', state.text)] : []),
      ...(state.failure ? this._failureParts(state.failure) : []),
      ...(state.work ? [this._workParts(state.work)] : []),
      ...(state.example ? [element('pre', 'State-example', state.example)] : []),
      element(
        'div',
        'State-actions',
        ...state.actions.map((action, index) =>
          button(
            index === 0 ? 'Button jp-mod-primary' : 'Button',
            actionText(action, trans),
            () => {
              this._do(action);
            }
          )
        )
      ),
      ...state.hints.map(text => element('p', 'Note', text))
    );
  }

  private _failureParts(failure: IFailure): HTMLElement[] {
    const trans = this._trans;
    const told = [failure.what, failure.why, failure.remedy, failure.details]
      .filter(Boolean)
      .join('\n');
    const copy = button('Button', trans.__('Copy details'), () => {
      void navigator.clipboard.writeText(told).then(() => {
        copy.textContent = trans.__('Copied');
      });
    });
    return [
      ...(failure.why ? [element('p', 'State-why', failure.why)] : []),
      ...this._originParts(failure),
      ...(failure.remedy
        ? [element('p', 'State-remedy', trans.__('What to do: %1', failure.remedy))]
        : []),
      copy
    ];
  }

  private _originParts({ gpus = [] }: IFailure): HTMLElement[] {
    const trans = this._trans;
    if (gpus.length === 0 || !this._source?.nameOrigin) {
      return [];
    }
    const origin = select('State-origin', trans.__('Recorded on'), () => undefined);
    origin.set(
      gpus.map(gpu => ({ value: gpu, text: gpu })),
      gpus[0] ?? ''
    );
    const predict = button('Button jp-mod-primary', trans.__('Predict'), () => {
      this._source?.nameOrigin?.(origin.control.value);
    });
    return [element('div', 'State-actions', origin.node, predict)];
  }

  private _workParts(work: IWork): HTMLElement {
    const bar = element('progress', 'State-progress');
    bar.setAttribute('aria-label', work.text);
    if (work.share !== null) {
      bar.max = 1;
      bar.value = work.share;
    }
    return element(
      'div',
      'State-work',
      bar,
      button('Button', this._trans.__('Cancel'), () => {
        this._source?.work?.cancel();
      })
    );
  }

  private _drawWork(work: IWork): void {
    const bar = this._state.querySelector('progress');
    if (bar && work.share !== null) {
      bar.max = 1;
      bar.value = work.share;
    }
  }

  private _do(action: Action): void {
    const source = this._source;
    const actions: Record<Action, (() => void) | undefined> = {
      insert: () => source?.insert?.(),
      load: () => source?.loadPackage?.(),
      'start-kernel': () => source?.startKernel?.(),
      retry: () => source?.retry?.(),
      'open-example': this._commands.openExample,
      'open-trace': this._commands.openTrace
    };
    actions[action]?.();
  }

  // A slider moves many times between two frames: what is seen is drawn once a frame.
  private _onSelection(_: Selection, change: Change): void {
    this._changes.add(change);
    if (change === 'prediction') {
      this._flush();
    } else if (!this._frame) {
      this._frame = requestAnimationFrame(() => {
        this._flush();
      });
    }
  }

  private _flush(): void {
    cancelAnimationFrame(this._frame);
    this._frame = 0;
    const changes = [...this._changes];
    this._changes.clear();
    for (const change of changes.includes('prediction') ? (['prediction'] as const) : changes) {
      this._update(change);
    }
  }

  private _update(change: Change): void {
    updateAll(this._views, change);
  }

  private _dropViews(): void {
    for (const view of this._views) {
      view.dispose();
    }
    this._views = [];
  }

  private readonly _entry: ISelect;
  private readonly _other: ISelect;
  private readonly _heading: HTMLElement;
  private readonly _choices: HTMLElement;
  private readonly _notices: HTMLElement;
  private readonly _state: HTMLElement;
  private readonly _sections: HTMLElement;
  private readonly _changes = new Set<Change>();
  private _context: ISectionContext;
  private _source: ISource | null = null;
  private _shown: IEntry | null = null;
  private _training: TrainingSection | null = null;
  private _views: SectionView[] = [];
  private _stateKey = '';
  private _frame = 0;
}

function timeText(madeAt: string): string {
  const at = new Date(madeAt);
  if (madeAt === '' || Number.isNaN(at.getTime())) {
    return '';
  }
  const isToday = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(undefined, {
    ...(isToday ? {} : { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit'
  });
}

function actionText(action: Action, trans: TranslationBundle): string {
  const texts: Record<Action, string> = {
    insert: trans.__('Insert into the selected cell'),
    load: trans.__('Load Surfer Lab in this kernel'),
    'start-kernel': trans.__('Start a kernel'),
    'open-example': trans.__('Open an example'),
    'open-trace': trans.__('Open a trace file'),
    retry: trans.__('Try again')
  };
  return texts[action];
}
