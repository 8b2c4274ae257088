// Which sources are there? One a notebook, made when a panel first looks at it, gone when the notebook closes.

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

import { NotebookSource } from './notebook';
import type { ISource } from './source';

/** What a panel looks at: it follows something, or stays with one source. */
export interface IFollowed extends IDisposable {
  readonly changed: ISignal<IFollowed, void>;
  /** Null: nothing to look at. */
  readonly source: ISource | null;
}

/** The notebooks' sources of one JupyterLab window, shared by its panels. */
export class NotebookSources {
  constructor(
    private readonly _notebooks: INotebookTracker | null,
    private readonly _trans: TranslationBundle
  ) {}

  get notebooks(): INotebookTracker | null {
    return this._notebooks;
  }

  /** Sources that are held; a test counts them. */
  get count(): number {
    return this._sources.size;
  }

  of(panel: NotebookPanel): NotebookSource {
    const known = this._sources.get(panel);
    if (known) {
      return known;
    }
    const made = new NotebookSource(panel, this._trans);
    this._sources.set(panel, made);
    panel.disposed.connect(() => {
      this._sources.delete(panel);
    });
    return made;
  }

  private readonly _sources = new Map<NotebookPanel, NotebookSource>();
}

/** Looks at the notebook that is active, from the first time that somebody asks. */
export class FollowedNotebook implements IFollowed {
  constructor(private readonly _sources: NotebookSources) {
    _sources.notebooks?.currentChanged.connect(this._onCurrent, this);
  }

  get changed(): ISignal<IFollowed, void> {
    return this._changed;
  }

  get source(): ISource | null {
    const current = this._sources.notebooks?.currentWidget;
    return current && !current.isDisposed ? this._sources.of(current) : null;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._sources.notebooks?.currentChanged.disconnect(this._onCurrent, this);
      Signal.clearData(this);
    }
  }

  private _onCurrent(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _isDisposed = false;
}

/** Stays with one source, and disposes of it. */
export class FixedSource implements IFollowed {
  constructor(readonly source: ISource) {}

  get changed(): ISignal<IFollowed, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this.source.isDisposed;
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.source.dispose();
      Signal.clearData(this);
    }
  }

  private readonly _changed = new Signal<this, void>(this);
}
