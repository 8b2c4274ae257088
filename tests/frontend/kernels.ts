// A kernel without a kernel: what sessions ask of JupyterLab's, with every comm and connection counted.

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';

import type { Hello, StoredView } from '../../src/generated/protocol';
import { COMM_TARGET } from '../../src/session';
import { OWN_VERSION } from '../../src/version';

interface IMessage {
  readonly kind: string;
  readonly id: string;
  readonly [name: string]: unknown;
}

/** One comm of a fake kernel; `tell` is the kernel speaking. */
export class FakeComm {
  constructor(private readonly _kernel: FakeKernel) {}

  readonly commId = `comm-${Math.random()}`;
  readonly sent: IMessage[] = [];
  isDisposed = false;
  isClosed = false;
  onMsg: (message: { content: { data: unknown } }) => void = () => undefined;
  onClose: () => void = () => undefined;

  open(): void {
    this._kernel.comms.add(this);
  }

  send(message: IMessage): void {
    this.sent.push(message);
    this._kernel.received(this, message);
  }

  close(): void {
    this.isClosed = true;
    this.dispose();
  }

  dispose(): void {
    this.isDisposed = true;
    this._kernel.comms.delete(this);
  }

  tell(data: unknown): void {
    this.onMsg({ content: { data } });
  }
}

/** A kernel with the package loaded or not. */
export class FakeKernel {
  constructor(public isLoaded = true) {}

  readonly comms = new Set<FakeComm>();
  readonly targets = new Map<string, (comm: unknown) => void>();
  readonly info = Promise.resolve({});
  status: Kernel.Status = 'idle';
  isDisposed = false;
  hello: Partial<Hello> = {};
  /** Answers by the kind of the question; without one it is not answered. */
  answers: Record<string, (message: IMessage) => Record<string, unknown>> = {};

  createComm(): FakeComm {
    return new FakeComm(this);
  }

  registerCommTarget(name: string, callback: (comm: unknown) => void): void {
    this.targets.set(name, callback);
  }

  removeCommTarget(name: string): void {
    this.targets.delete(name);
  }

  requestCommInfo(): Promise<unknown> {
    const comms = this.isLoaded ? { beacon: { target_name: COMM_TARGET } } : {};
    return Promise.resolve({ content: { status: 'ok', comms } });
  }

  requestExecute(): { done: Promise<unknown> } {
    return { done: Promise.resolve({ content: { status: 'ok' } }) };
  }

  /** `%load_ext surfer_lab` was run. */
  load(): void {
    this.isLoaded = true;
    this.targets.get(COMM_TARGET)?.(new FakeComm(this));
  }

  received(comm: FakeComm, message: IMessage): void {
    if (message.kind === 'hello') {
      comm.tell({
        kind: 'hello',
        id: message.id,
        protocol: 1,
        version: OWN_VERSION,
        schema_version: 2,
        has_torch: true,
        gpu: '',
        entries: [],
        ...this.hello
      });
      return;
    }
    const answer = this.answers[message.kind]?.(message);
    if (answer) {
      comm.tell({ id: message.id, ...answer });
    }
  }

  announce(view: StoredView): void {
    for (const comm of this.comms) {
      comm.tell({
        kind: 'predicted',
        view,
        entry: {
          provenance: view.provenance,
          name: view.name,
          title: view.title,
          headline: '',
          is_live: true
        }
      });
    }
  }
}

/** A session of one notebook; `connections` counts who listens to it. */
export class FakeContext {
  constructor(kernel: FakeKernel | null) {
    this.session = kernel && { kernel };
    for (const signal of [this.kernelChanged, this.statusChanged]) {
      const connect = signal.connect.bind(signal);
      const disconnect = signal.disconnect.bind(signal);
      signal.connect = (slot, object) => {
        const made = connect(slot, object);
        this.connections += Number(made);
        return made;
      };
      signal.disconnect = (slot, object) => {
        const gone = disconnect(slot, object);
        this.connections -= Number(gone);
        return gone;
      };
    }
  }

  connections = 0;
  session: { kernel: FakeKernel | null } | null;
  readonly path = 'work/train.ipynb';
  readonly kernelDisplayName = 'Python 3';
  readonly kernelChanged = new Signal<this, unknown>(this);
  readonly statusChanged = new Signal<this, Kernel.Status>(this);

  setStatus(status: Kernel.Status): void {
    if (this.session?.kernel) {
      this.session.kernel.status = status;
    }
    this.statusChanged.emit(status);
  }

  setKernel(kernel: FakeKernel | null): void {
    this.session = kernel && { kernel };
    this.kernelChanged.emit(undefined);
  }

  asContext(): ISessionContext {
    return this as unknown as ISessionContext;
  }
}

/** Let promises that are due be settled. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) {
    await Promise.resolve();
  }
}
