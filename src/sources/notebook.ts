// Which predictions does a notebook have? Those in its outputs, and those its kernel tells of: the outputs outlive the
// kernel, so a notebook opened again shows its predictions with no kernel at all.

import { CodeCell, type ICodeCellModel, isCodeCellModel } from '@jupyterlab/cells';
import { PathExt } from '@jupyterlab/coreutils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';

import { withPredictMagic } from '../cell_magic';
import { readPrediction } from '../panels/output/model';
import { readTraining } from '../panels/training/model';
import { KernelLink, loadPackageIn, RequestFailed, type Announcement } from '../session';
import { PREDICTION_MIME_TYPE, TRAINING_MIME_TYPE, type IFailure } from '../tokens';
import { OWN_VERSION } from '../version';
import { addBatch } from './batches';
import { Entries, type IEntry } from './entries';
import type { ISource, IWork } from './source';
import { Trainings, type ITraining } from './trainings';

const SCAN_AFTER_MS = 20;
const FAILURE_PREFIX = 'Surfer Lab cannot predict this cell:';

/** The predictions of one open notebook. */
export class NotebookSource implements ISource {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _trans: TranslationBundle
  ) {
    this.link = new KernelLink(_panel.sessionContext, _trans);
    this.link.stateChanged.connect(this._onLink, this);
    this.link.announced.connect(this._onAnnounced, this);
    _panel.disposed.connect(this.dispose, this);
    _panel.context.pathChanged.connect(this._onRenamed, this);
    void _panel.context.ready.then(() => {
      if (!this._isDisposed) {
        _panel.content.model?.cells.changed.connect(this._onCells, this);
        this._onCells();
      }
    });
    this._onLink();
  }

  readonly kind = 'notebook';
  readonly link: KernelLink;
  chosen: string | null = null;
  compared: string | null = null;

  get changed(): ISignal<ISource, void> {
    return this._changed;
  }

  get label(): string {
    return PathExt.basename(this._panel.context.path);
  }

  get entries(): readonly IEntry[] {
    return this._entries.list;
  }

  get newest(): IEntry | null {
    return this._entries.newest;
  }

  get failure(): IFailure | null {
    return this._failure;
  }

  get work(): IWork | null {
    return null;
  }

  get trainings(): readonly ITraining[] {
    return this._trainings.all;
  }

  get unreadable(): readonly string[] {
    return this._unreadable;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Connections to outputs; a test counts them. */
  get connectionCount(): number {
    return this._watched.size;
  }

  addBatch(id: string, size: number): Promise<void> {
    return addBatch(this.link, this._entries, id, size).then(() => {
      this._changed.emit();
    });
  }

  fetch(id: string): void {
    if (this._fetching.has(id) || this.link.state !== 'connected') {
      return;
    }
    this._fetching.add(id);
    this.link
      .ask({ kind: 'view', prediction: id })
      .answer.then(answer => {
        if (answer.kind === 'view') {
          this._take(this._entries.addView(answer.view));
        }
      })
      .catch((error: unknown) => {
        if (error instanceof RequestFailed) {
          this._failure = error.failure;
          this._changed.emit();
        }
      })
      .finally(() => this._fetching.delete(id));
  }

  /** "In[3]:7": the cell that ran it, by the ids that the prediction holds, else by its number. */
  reveal(source: string, id: string): void {
    const found = /^In\s*\[(\d+)\](?::(\d+))?/.exec(source);
    if (!found) {
      return;
    }
    const [, number = '', line = '1'] = found;
    const cells = this._entries.get(id)?.prediction?.stored.provenance.cells ?? {};
    const notebook = this._panel.content;
    const index = notebook.widgets.findIndex(
      cell =>
        cell.model.id === cells[`In[${number}]`] ||
        (cell instanceof CodeCell && String(cell.model.executionCount) === number)
    );
    const cell = notebook.widgets[index];
    if (!cell) {
      return;
    }
    notebook.activeCellIndex = index;
    void notebook.scrollToItem(index, 'center').then(() => {
      // the magic's own line is the first of the cell, and the kernel counts from the one after it
      const isPredicted = /^\s*%%/.test(cell.model.sharedModel.getSource());
      const place = { line: Number(line) - 1 + (isPredicted ? 1 : 0), column: 0 };
      notebook.mode = 'edit';
      cell.editor?.setCursorPosition(place);
      cell.editor?.setSelection({ start: place, end: { line: place.line + 1, column: 0 } });
      cell.editor?.focus();
    });
  }

  insert(): void {
    const cell = this._panel.content.activeCell;
    if (cell?.model.type === 'code') {
      cell.model.sharedModel.setSource(withPredictMagic(cell.model.sharedModel.getSource()));
      cell.editor?.focus();
    }
  }

  startKernel(): void {
    void this._panel.sessionContext.startKernel();
  }

  loadPackage(): void {
    const kernel = this._panel.sessionContext.session?.kernel;
    if (kernel) {
      void loadPackageIn(kernel, this._trans).then(failure => {
        this._failure = failure;
        this._changed.emit();
      });
    }
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    clearTimeout(this._timer);
    this._panel.disposed.disconnect(this.dispose, this);
    this._panel.context.pathChanged.disconnect(this._onRenamed, this);
    this._panel.content.model?.cells.changed.disconnect(this._onCells, this);
    for (const cell of this._watched) {
      cell.outputs.changed.disconnect(this._scanSoon, this);
    }
    this._watched.clear();
    this.link.stateChanged.disconnect(this._onLink, this);
    this.link.announced.disconnect(this._onAnnounced, this);
    this.link.dispose();
    Signal.clearData(this);
  }

  private _onLink(): void {
    const { state, hello } = this.link;
    if (state === 'connected' && hello !== this._greeted) {
      this._greeted = hello;
      for (const entry of hello?.entries ?? []) {
        this._entries.addEntry(entry);
      }
    } else if (state !== 'connected') {
      this._greeted = null;
      this._entries.withoutKernel();
      if (state !== 'starting') {
        this._trainings.withoutKernel();
      }
    }
    this._changed.emit();
  }

  private _onAnnounced(_: KernelLink, message: Announcement): void {
    switch (message.kind) {
      case 'predicted':
        this._failure = null;
        // a new prediction is what its maker wants to see
        this.chosen = null;
        this._take(this._entries.addView(message.view, { isLive: message.entry.is_live }));
        break;
      case 'grid-ready':
        this._take(this._entries.addGrid(message.prediction, message.grid));
        break;
      case 'training':
        this._take(this._trainings.add(message.view, true));
        break;
      case 'forgotten':
        this._take(this._entries.remove(message.prediction));
        break;
    }
  }

  private _onRenamed(): void {
    this._changed.emit();
  }

  private _onCells(): void {
    const cells = new Set([...(this._panel.content.model?.cells ?? [])].filter(isCodeCellModel));
    for (const gone of [...this._watched].filter(cell => !cells.has(cell))) {
      gone.outputs.changed.disconnect(this._scanSoon, this);
      this._watched.delete(gone);
    }
    for (const cell of cells) {
      if (!this._watched.has(cell)) {
        cell.outputs.changed.connect(this._scanSoon, this);
        this._watched.add(cell);
      }
    }
    this._scan();
  }

  // Outputs change with every printed line: they are looked through when there is a moment.
  private _scanSoon(): void {
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      this._scan(true);
    }, SCAN_AFTER_MS);
  }

  // `isSent`: outputs have changed, so that a kernel sends them. A cell that runs before kernel and panel have greeted is
  // followed by its output alone.
  private _scan(isSent = false): void {
    const outputs = [...this._watched].flatMap(cell => outputsOf(cell));
    const unreadable: string[] = [];
    let failure: IFailure | null = null;
    let isChanged = false;
    for (const output of outputs) {
      isChanged = this._scanTraining(output, isSent) || isChanged;
      const data = output.data[PREDICTION_MIME_TYPE];
      if (data === undefined) {
        failure ??= this._failureIn(output);
        continue;
      }
      const reason = this._read.get(data as object);
      if (reason !== undefined) {
        unreadable.push(...(reason ? [reason] : []));
        continue; // it was read before
      }
      const read = readPrediction(data, OWN_VERSION, this._trans);
      if (read.kind === 'readable') {
        const isNew = this._entries.get(read.view.provenance.id) === null;
        isChanged = this._entries.addView(read.view, { note: read.note }) || isChanged;
        if (isNew) {
          this.chosen = null;
        }
      } else {
        unreadable.push(read.reason);
      }
      this._read.set(data as object, read.kind === 'readable' ? '' : read.reason);
    }
    const isFailing = failure?.why !== this._failure?.why;
    if (isChanged || isFailing || unreadable.join() !== this._unreadable.join()) {
      this._failure = failure;
      this._unreadable = unreadable;
      this._changed.emit();
    }
  }

  private _scanTraining(output: IOutputModel, isSent: boolean): boolean {
    const data = output.data[TRAINING_MIME_TYPE];
    if (typeof data !== 'object' || data === null || this._read.has(data)) {
      return false;
    }
    this._read.set(data, '');
    const view = readTraining(data);
    return view !== null && this._trainings.add(view, isSent);
  }

  private _failureIn(output: IOutputModel): IFailure | null {
    const text = output.data['text/plain'];
    const told = Array.isArray(text) ? text.join('') : text;
    if (typeof told !== 'string' || !told.startsWith(FAILURE_PREFIX)) {
      return null;
    }
    const why = told.slice(FAILURE_PREFIX.length).trim();
    return {
      what: this._trans.__('This cell could not be predicted.'),
      why,
      remedy: this._trans.__(
        'The cell itself ran as it should. Change what is named, and run it again.'
      ),
      details: told
    };
  }

  private _take(isChanged: boolean): void {
    if (isChanged) {
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _entries = new Entries();
  private readonly _trainings = new Trainings();
  private readonly _watched = new Set<ICodeCellModel>();
  private readonly _fetching = new Set<string>();
  // by the JSON of an output: "" where it was readable, else why not
  private readonly _read = new WeakMap<object, string>();
  private _greeted: KernelLink['hello'] = null;
  private _failure: IFailure | null = null;
  private _unreadable: readonly string[] = [];
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _isDisposed = false;
}

function outputsOf(cell: ICodeCellModel): IOutputModel[] {
  return Array.from({ length: cell.outputs.length }, (_, index) => cell.outputs.get(index));
}
