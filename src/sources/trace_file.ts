// How is a trace file read? By a kernel of its own, started beside the file and shut down with the tab that shows it.

import { SessionContext } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { ServiceManager } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';

import { KernelLink, loadPackageIn, RequestFailed, type IPending } from '../session';
import type { IFailure } from '../tokens';
import { addBatch } from './batches';
import { Entries, type IEntry } from './entries';
import type { ISource, IWork } from './source';

/** The prediction of one trace file. */
export class TraceFileSource implements ISource {
  constructor(
    services: ServiceManager.IManager,
    private readonly _path: string,
    private readonly _trans: TranslationBundle
  ) {
    const name = PathExt.basename(_path);
    this._context = new SessionContext({
      kernelManager: services.kernels,
      sessionManager: services.sessions,
      specsManager: services.kernelspecs,
      // the kernel starts in the folder of this path; another tab on the same file has a kernel of its own
      path: PathExt.join(PathExt.dirname(_path), `${name}.${String(Date.now())}.surfer`),
      name,
      type: 'surfer-trace',
      kernelPreference: { shouldStart: true, canStart: true, autoStartDefault: true }
    });
    this.link = new KernelLink(this._context, _trans);
    this.link.stateChanged.connect(this._onLink, this);
    this._begin();
    void this._start(services);
  }

  readonly kind = 'trace';
  readonly link: KernelLink;
  chosen: string | null = null;
  compared: string | null = null;
  readonly unreadable: readonly string[] = [];

  get changed(): ISignal<ISource, void> {
    return this._changed;
  }

  get label(): string {
    return PathExt.basename(this._path);
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
    return this._work;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  addBatch(id: string, size: number): Promise<void> {
    return addBatch(this.link, this._entries, id, size).then(() => {
      this._changed.emit();
    });
  }

  fetch(): void {
    // the one view that there is came with its answer
  }

  nameOrigin(gpu: string): void {
    this._origin = gpu;
    this.retry();
  }

  /** Read the file again, with the kernel there is or a new one. */
  retry(): void {
    this._begin();
    if (this.link.state === 'connected') {
      this._ask();
    } else {
      void this._context.restartKernel().then(() => this._load());
    }
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._pending?.cancel();
    this.link.stateChanged.disconnect(this._onLink, this);
    this.link.dispose();
    void this._context
      .shutdown()
      .catch(() => undefined)
      .finally(() => {
        this._context.dispose();
      });
    Signal.clearData(this);
  }

  private _begin(): void {
    this._failure = null;
    this._working(this._trans.__('Starting a kernel …'), null);
  }

  private async _start(services: ServiceManager.IManager): Promise<void> {
    try {
      await services.kernelspecs.ready;
      const preference = this._context.kernelPreference;
      const name = services.kernelspecs.specs?.default;
      this._context.kernelPreference = name === undefined ? preference : { ...preference, name };
      await this._context.initialize();
      await this._context.ready;
      await this._load();
    } catch (error) {
      this._fail({
        what: this._trans.__('No kernel could be started to read this file.'),
        why: String(error),
        remedy: this._trans.__(
          'Install surfer-lab and ipykernel where JupyterLab runs, and try again.'
        ),
        details: String(error)
      });
    }
  }

  private async _load(): Promise<void> {
    const kernel = this._context.session?.kernel;
    if (!kernel || this._isDisposed) {
      return;
    }
    this._working(this._trans.__('Loading Surfer Lab …'), null);
    const failure = await loadPackageIn(kernel, this._trans);
    if (failure) {
      this._fail(failure);
    }
  }

  private _onLink(): void {
    const { state, refusal, hello } = this.link;
    if (state === 'connected' && this._entries.newest === null && !this._pending) {
      this._ask();
    } else if (state === 'mismatched') {
      this._fail({
        what: this._trans.__('This kernel has another version of surfer-lab.'),
        why: refusal?.what ?? hello?.version ?? '',
        remedy: this._trans.__('Install the same version in the kernel and in JupyterLab.'),
        details: refusal?.details ?? ''
      });
    } else if (state === 'dead') {
      this._entries.withoutKernel();
      if (!this._entries.newest) {
        this._fail({
          what: this._trans.__('The kernel that read this file has stopped.'),
          why: this._trans.__('It may have run out of memory.'),
          remedy: this._trans.__('Try again; a trace of fewer steps needs less.'),
          details: ''
        });
      }
    }
    this._changed.emit();
  }

  private _ask(): void {
    this._working(this._trans.__('Reading %1 …', this.label), null);
    const pending = this.link.ask(
      { kind: 'trace', path: PathExt.basename(this._path), origin: this._origin },
      progress => {
        this._working(progress.text, progress.total > 0 ? progress.done / progress.total : null);
      }
    );
    this._pending = pending;
    pending.answer
      .then(answer => {
        if (answer.kind === 'view') {
          this._work = null;
          this._entries.addView(answer.view, { isLive: true });
          this._changed.emit();
        }
      })
      .catch((error: unknown) => {
        if (error instanceof RequestFailed) {
          this._fail({
            ...error.failure,
            why: error.wasCancelled ? '' : error.failure.why
          });
        }
      })
      .finally(() => {
        this._pending = null;
      });
  }

  private _working(text: string, share: number | null): void {
    this._work = {
      text,
      share,
      cancel: () => {
        if (this._pending) {
          this._pending.cancel();
        } else {
          this._fail({
            what: this._trans.__('Reading was cancelled.'),
            why: '',
            remedy: this._trans.__('Try again when you like.'),
            details: ''
          });
        }
      }
    };
    this._changed.emit();
  }

  private _fail(failure: IFailure): void {
    if (!this._isDisposed) {
      this._work = null;
      this._failure = failure;
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _entries = new Entries();
  private readonly _context: SessionContext;
  private _pending: IPending | null = null;
  private _origin = '';
  private _work: IWork | null = null;
  private _failure: IFailure | null = null;
  private _isDisposed = false;
}
