// Who talks to a kernel? One link a session: one comm, each request answered once, nothing left behind when it goes.
//
// A kernel in which the package is loaded holds a comm open to our target, the beacon. It is seen when it opens, or
// asked for when a page meets a kernel that has been up: only then does this link open a comm of its own, so that
// other people's kernels log no unknown target. A kernel that restarts or dies takes its comms with it: waiting requests
// fail with a reason, and the next kernel gets a comm of its own. Two tabs on one kernel have a comm each.

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID, type JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

import type { Hello, Progress, Protocol } from './generated/protocol';
import { VIEW_SCHEMA_VERSION, type IFailure } from './tokens';
import { OWN_VERSION } from './version';

/** The comm's name, on both sides. */
export const COMM_TARGET = 'surfer_lab';

/** The form of the messages that this front end speaks. */
export const PROTOCOL_VERSION = 1;

/** Where a kernel stands: `unloaded` runs without the package, `mismatched` holds another version of it. */
export type LinkState =
  'none' | 'starting' | 'unloaded' | 'connected' | 'mismatched' | 'restarting' | 'dead';

export type Request = Protocol['request'];
export type Answer = Exclude<Protocol['answer'], { kind: 'failure' }>;
export type Announcement = Protocol['announcement'];

// What is asked, without the id that the link gives it; the answer has the kind of the question where there is one.
type Asked = Request extends infer One ? (One extends Request ? Omit<One, 'id'> : never) : never;

/** A request that got no answer, or the answer that it failed. */
export class RequestFailed extends Error {
  constructor(
    readonly failure: IFailure,
    readonly wasCancelled = false
  ) {
    super(failure.what);
    this.name = 'RequestFailed';
  }
}

/** A request on its way: its answer, and how to stop it. */
export interface IPending {
  readonly answer: Promise<Answer>;
  cancel(): void;
}

/** Load the package in a kernel that runs; null where that went well. */
export async function loadPackageIn(
  kernel: Kernel.IKernelConnection,
  trans: TranslationBundle
): Promise<IFailure | null> {
  const future = kernel.requestExecute({ code: '%load_ext surfer_lab', store_history: false });
  const { content } = await future.done;
  if (content.status === 'ok') {
    return null;
  }
  const { ename = '', evalue = '' } = content as { ename?: string; evalue?: string };
  return {
    what: trans.__('Surfer Lab could not be loaded in this kernel.'),
    why: `${ename}: ${evalue}`,
    remedy: trans.__(
      'Run %pip install surfer-lab in the notebook, restart the kernel, and try again.'
    ),
    details: `${ename}: ${evalue}`
  };
}

interface IWaiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: RequestFailed) => void;
  readonly progressed: ((progress: Progress) => void) | undefined;
}

/** The link to the kernels of one session context, one after the other. */
export class KernelLink implements IDisposable {
  constructor(
    private readonly _context: ISessionContext,
    private readonly _trans: TranslationBundle
  ) {
    _context.kernelChanged.connect(this._onKernelChanged, this);
    _context.statusChanged.connect(this._onStatusChanged, this);
    this._meet(_context.session?.kernel ?? null);
  }

  /** The state, or whether the kernel is busy, has changed. */
  get stateChanged(): ISignal<this, LinkState> {
    return this._stateChanged;
  }

  /** The kernel tells of something that nobody asked for. */
  get announced(): ISignal<this, Announcement> {
    return this._announced;
  }

  get state(): LinkState {
    return this._state;
  }

  /** Whether the kernel runs a cell. */
  get isBusy(): boolean {
    return this._context.session?.kernel?.status === 'busy';
  }

  /** What the kernel said of itself; null before it has. */
  get hello(): Hello | null {
    return this._hello;
  }

  /** The name of the kernel's language as people call it; "" where there is no kernel. */
  get kernelName(): string {
    return this._context.kernelDisplayName;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Requests that wait for their answer. */
  get waitingCount(): number {
    return this._waiting.size;
  }

  /** Ask the kernel. The answer is rejected with a RequestFailed: refused, failed, cancelled, or the kernel went away. */
  ask(asked: Asked, progressed?: (progress: Progress) => void): IPending {
    const comm = this._comm;
    if (!comm || this._state !== 'connected') {
      return {
        answer: Promise.reject(new RequestFailed(this._unreachable())),
        cancel: () => undefined
      };
    }
    const id = UUID.uuid4();
    const answer = new Promise<Answer>((resolve, reject) => {
      this._waiting.set(id, { resolve, reject, progressed });
    });
    this._send(comm, { ...asked, id });
    return {
      answer,
      cancel: () => {
        if (this._waiting.has(id) && this._comm === comm) {
          const own = UUID.uuid4();
          // its answer says whether there was anything to stop: nobody waits for that
          this._send(comm, { kind: 'cancel', id: own, request: id });
        }
      }
    };
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._context.kernelChanged.disconnect(this._onKernelChanged, this);
    this._context.statusChanged.disconnect(this._onStatusChanged, this);
    this._leave();
    Signal.clearData(this);
  }

  private _onKernelChanged(): void {
    this._leave();
    this._meet(this._context.session?.kernel ?? null);
  }

  private _onStatusChanged(_: ISessionContext, status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting') {
      this._dropComm();
      this._setState('restarting');
    } else if (status === 'dead' || status === 'terminating') {
      this._dropComm();
      this._setState('dead');
    } else if (this._kernel && (status === 'idle' || status === 'busy')) {
      if (this._state === 'restarting' || this._state === 'dead') {
        this._look(this._kernel);
      } else {
        this._stateChanged.emit(this._state); // busy or no longer busy
      }
    }
  }

  private _meet(kernel: Kernel.IKernelConnection | null): void {
    this._kernel = kernel;
    if (!kernel) {
      this._setState('none');
      return;
    }
    kernel.registerCommTarget(COMM_TARGET, this._onBeacon);
    this._look(kernel);
  }

  // Is the package loaded in a kernel that may have been up before this page was?
  private _look(kernel: Kernel.IKernelConnection): void {
    this._setState('starting');
    kernel.info
      .then(() => kernel.requestCommInfo({ target_name: COMM_TARGET }))
      .then(reply => {
        if (this._kernel !== kernel || this._comm || this._isDisposed) {
          return;
        }
        const comms = reply.content.status === 'ok' ? reply.content.comms : {};
        if (Object.keys(comms).length > 0) {
          this._open(kernel);
        } else {
          this._setState('unloaded');
        }
      })
      .catch(() => {
        // the kernel went away while it was asked: its status tells what came of it
      });
  }

  private readonly _onBeacon = (beacon: Kernel.IComm): void => {
    const kernel = this._kernel;
    this._beacon = beacon;
    if (kernel && !this._comm && !this._isDisposed) {
      this._open(kernel);
    }
  };

  private _open(kernel: Kernel.IKernelConnection): void {
    const comm = kernel.createComm(COMM_TARGET);
    this._comm = comm;
    comm.onMsg = message => {
      this._onMessage(comm, message.content.data);
    };
    comm.onClose = () => {
      if (this._comm === comm) {
        this._dropComm();
        this._setState('unloaded');
      }
    };
    comm.open();
    const id = UUID.uuid4();
    this._waiting.set(id, {
      resolve: answer => {
        this._greeted(answer);
      },
      reject: refused => {
        if (this._comm !== comm) {
          return; // the kernel went before it answered
        }
        this._refusal = refused.failure;
        this._setState('mismatched');
      },
      progressed: undefined
    });
    this._send(comm, {
      kind: 'hello',
      id,
      protocol: PROTOCOL_VERSION,
      version: OWN_VERSION,
      schema_version: VIEW_SCHEMA_VERSION,
      notebook: this._context.path
    });
  }

  private _greeted(answer: Answer): void {
    if (answer.kind !== 'hello') {
      return;
    }
    this._hello = answer;
    const fits =
      answer.protocol === PROTOCOL_VERSION && answer.schema_version === VIEW_SCHEMA_VERSION;
    this._setState(fits ? 'connected' : 'mismatched');
  }

  /** Why the kernel refused the greeting; null where it did not. */
  get refusal(): IFailure | null {
    return this._refusal;
  }

  private _send(comm: Kernel.IComm, message: Request): void {
    comm.send(message as unknown as JSONObject);
  }

  private _onMessage(comm: Kernel.IComm, data: JSONObject): void {
    if (this._comm !== comm) {
      return; // of a kernel that this session has left
    }
    const message = data as unknown as Protocol['answer'] | Progress | Announcement;
    if (!('id' in message)) {
      this._announced.emit(message);
      return;
    }
    const waiting = this._waiting.get(message.id);
    if (message.kind === 'progress') {
      waiting?.progressed?.(message);
      return;
    }
    this._waiting.delete(message.id);
    if (message.kind === 'failure') {
      waiting?.reject(
        new RequestFailed(
          {
            what: message.seen,
            why: '',
            remedy: message.remedy,
            details: message.detail ?? '',
            ...(message.gpus?.length ? { gpus: message.gpus } : {})
          },
          message.error === 'cancelled'
        )
      );
    } else {
      waiting?.resolve(message);
    }
  }

  private _leave(): void {
    const kernel = this._kernel;
    const comm = this._comm;
    this._dropComm(false);
    if (kernel && !kernel.isDisposed) {
      kernel.removeCommTarget(COMM_TARGET, this._onBeacon);
      if (comm && !comm.isDisposed && kernel.status !== 'dead') {
        comm.close();
      }
    }
    this._kernel = null;
  }

  // The comm's kernel is gone or going; everybody who waits is told.
  private _dropComm(isGone = true): void {
    const comm = this._comm;
    this._comm = null;
    this._hello = null;
    this._refusal = null;
    if (comm && isGone && !comm.isDisposed) {
      comm.dispose();
    }
    if (this._beacon && !this._beacon.isDisposed) {
      this._beacon.dispose();
    }
    this._beacon = null;
    const waiting = [...this._waiting.values()];
    this._waiting.clear();
    for (const one of waiting) {
      one.reject(new RequestFailed(this._unreachable()));
    }
  }

  private _setState(state: LinkState): void {
    if (this._state !== state) {
      this._state = state;
      this._stateChanged.emit(state);
    }
  }

  private _unreachable(): IFailure {
    return {
      what: this._trans.__('The kernel does not answer.'),
      why: this._trans.__('It was restarted, shut down, or does not have surfer_lab loaded.'),
      remedy: this._trans.__('Start the kernel, run %load_ext surfer_lab, and try again.'),
      details: ''
    };
  }

  private readonly _stateChanged = new Signal<this, LinkState>(this);
  private readonly _announced = new Signal<this, Announcement>(this);
  private readonly _waiting = new Map<string, IWaiting>();
  private _kernel: Kernel.IKernelConnection | null = null;
  private _comm: Kernel.IComm | null = null;
  private _beacon: Kernel.IComm | null = null;
  private _hello: Hello | null = null;
  private _refusal: IFailure | null = null;
  private _state: LinkState = 'none';
  private _isDisposed = false;
}
