// Which predictions does a source have? By id, oldest first; from outputs, from the kernel, from a trace file.

import type { Entry, GridView, StoredView } from '../generated/protocol';
import { Prediction } from '../prediction';

/** One prediction in the list of a source. */
export interface IEntry {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  /** ISO 8601, UTC; "" not known. */
  readonly madeAt: string;
  /** Null until the kernel has sent it. */
  readonly prediction: Prediction | null;
  /** Whether the kernel still holds it, and answers closer questions. */
  readonly isLive: boolean;
  readonly note: string;
}

/** The list. Every change that a reader could see is told by the return value. */
export class Entries {
  get list(): readonly IEntry[] {
    return this._list;
  }

  get newest(): IEntry | null {
    return this._list[this._list.length - 1] ?? null;
  }

  get(id: string): IEntry | null {
    return this._list.find(one => one.id === id) ?? null;
  }

  /** A view that was read in an output or came from the kernel. False where it was there already. */
  addView(
    view: StoredView,
    facts: { readonly isLive?: boolean; readonly note?: string } = {}
  ): boolean {
    const { id, made_at = '' } = view.provenance;
    const known = this.get(id);
    const holds = known?.prediction?.stored;
    // a prediction comes in parts: as run at once, what-ifs and the grid later
    const isNewer = !holds || partCount(view) > partCount(holds);
    const isLive = facts.isLive ?? known?.isLive ?? false;
    const note = facts.note ?? known?.note ?? '';
    if (known && !isNewer && known.isLive === isLive && known.note === note) {
      return false;
    }
    this._put({
      id,
      name: view.name,
      title: view.title,
      madeAt: made_at,
      prediction: isNewer ? new Prediction(view) : known.prediction,
      isLive,
      note
    });
    return true;
  }

  /** What the kernel told of a prediction, without its view. */
  addEntry(entry: Entry): boolean {
    const { id, made_at = '' } = entry.provenance;
    const known = this.get(id);
    if (known?.isLive === entry.is_live) {
      return false;
    }
    this._put({
      id,
      name: entry.name,
      title: entry.title,
      madeAt: made_at,
      prediction: known?.prediction ?? null,
      isLive: entry.is_live,
      note: known?.note ?? ''
    });
    return true;
  }

  addGrid(id: string, grid: GridView): boolean {
    const known = this.get(id);
    if (!known?.prediction || known.prediction.grid) {
      return false;
    }
    this._put({ ...known, prediction: known.prediction.withGrid(grid) });
    return true;
  }

  /** More batch sizes of a prediction whose grid is here. */
  addBatches(id: string, slice: GridView): boolean {
    const known = this.get(id);
    if (!known?.prediction?.grid) {
      return false;
    }
    this._put({ ...known, prediction: known.prediction.withBatches(slice) });
    return true;
  }

  remove(id: string): boolean {
    const before = this._list.length;
    this._list = this._list.filter(one => one.id !== id);
    return this._list.length < before;
  }

  /** The kernel is gone: what it held can be looked at, and no longer asked about. What had no view is gone. */
  withoutKernel(): void {
    this._list = this._list
      .filter(one => one.prediction !== null)
      .map(one => (one.isLive ? { ...one, isLive: false } : one));
  }

  private _put(entry: IEntry): void {
    const place = this._list.findIndex(one => one.id === entry.id);
    const rest = this._list.filter(one => one.id !== entry.id);
    if (place >= 0) {
      rest.splice(place, 0, entry);
    } else {
      // by time where it is known, else in the order of coming
      const after = rest.findIndex(one => entry.madeAt !== '' && one.madeAt > entry.madeAt);
      rest.splice(after < 0 ? rest.length : after, 0, entry);
    }
    this._list = rest;
  }

  private _list: readonly IEntry[] = [];
}

function partCount(view: StoredView): number {
  const { grid, curve, memory, modules, roofline, timeline, alternatives = [] } = view;
  const parts = [grid, curve, memory, modules, roofline, timeline, alternatives[0]];
  return parts.filter(Boolean).length;
}
