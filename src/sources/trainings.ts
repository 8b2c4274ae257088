// Which training runs does a notebook have? By id; each comes again and again while it goes on, from kernel and output.

import type { TrainingView } from '../generated/protocol';

/** One run, as far as it is known. */
export interface ITraining {
  readonly view: TrainingView;
  /** Whether it runs in the kernel that is there. */
  readonly isLive: boolean;
}

/** The runs of one notebook. Every change that a reader could see is told by the return value. */
export class Trainings {
  /** In the order in which they came: the newest last. */
  get all(): readonly ITraining[] {
    return [...this._runs.values()];
  }

  /** A view from the kernel, or read in an output; `isLive`: a kernel runs it. False where it was known already. */
  add(view: TrainingView, isLive: boolean): boolean {
    const { id = '', revision = 0 } = view;
    const known = this._runs.get(id);
    const isNewer = !known || revision > (known.view.revision ?? 0);
    const isNowLive = isLive || known?.isLive === true;
    if (known && !isNewer && isNowLive === known.isLive) {
      return false;
    }
    this._runs.set(id, { view: isNewer ? view : known.view, isLive: isNowLive });
    return true;
  }

  /** The kernel is gone, and what ran in it with it. */
  withoutKernel(): void {
    for (const [id, run] of this._runs) {
      this._runs.set(id, { ...run, isLive: false });
    }
  }

  private readonly _runs = new Map<string, ITraining>();
}
