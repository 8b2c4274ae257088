// Where do a panel's predictions come from? A source: a notebook, or a trace file. It lists them and says how it stands.

import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';

import type { KernelLink } from '../session';
import type { IFailure } from '../tokens';
import type { IEntry } from './entries';
import type { ITraining } from './trainings';

/** How far a long request is. `share` null: not known. */
export interface IWork {
  readonly text: string;
  readonly share: number | null;
  cancel(): void;
}

/** A source of predictions. */
export interface ISource extends IDisposable {
  readonly kind: 'notebook' | 'trace';
  readonly changed: ISignal<ISource, void>;
  /** The file's name. */
  readonly label: string;
  readonly link: KernelLink | null;
  readonly entries: readonly IEntry[];
  /** The one that is shown when nobody has chosen: the newest. */
  readonly newest: IEntry | null;
  /** The prediction chosen in this source, and the one beside it; they come back when the source does. */
  chosen: string | null;
  compared: string | null;
  /** The last thing that went wrong, until the next that goes right. */
  readonly failure: IFailure | null;
  /** What is being done; null where nothing is. */
  readonly work: IWork | null;
  /** The training runs that were tuned here, the newest last; absent where there can be none. */
  readonly trainings?: readonly ITraining[];
  /** Outputs that cannot be drawn, a sentence each. */
  readonly unreadable: readonly string[];
  /** Ask the kernel for one more batch size of a prediction; rejects with a RequestFailed. */
  addBatch(id: string, size: number): Promise<void>;
  /** Ask the kernel for a view that only it has. */
  fetch(id: string): void;
  /** Go to the cell and line, where the source has cells. */
  readonly reveal?: (source: string, id: string) => void;
  /** Put the magic into the selected cell. */
  readonly insert?: () => void;
  /** Start a kernel, where there is none. */
  readonly startKernel?: () => void;
  /** Load the package in the kernel that runs. */
  readonly loadPackage?: () => void;
  /** Read the file again as recorded on this GPU, where it does not say on which. */
  readonly nameOrigin?: (gpu: string) => void;
  /** Try again what failed. */
  readonly retry?: () => void;
}
