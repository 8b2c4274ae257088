// What is looked at? One prediction, a GPU, a setting; and another prediction beside it. Sections draw it and change it.

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

import { outcomeOf, outcomesOf, type IOutcome } from './outcome';
import type { ISetting, Prediction } from './prediction';
import type { IPreferences, IPrices } from './tokens';

/** What has changed: `prediction` means everything. */
export type Change = 'prediction' | 'gpu' | 'setting' | 'preferences';

/** The selection of one panel or one output. */
export class Selection implements IDisposable {
  constructor(
    readonly preferences: IPreferences,
    private readonly _trans: TranslationBundle
  ) {
    preferences.changed.connect(this._onPreferences, this);
  }

  get changed(): ISignal<this, Change> {
    return this._changed;
  }

  get prediction(): Prediction | null {
    return this._prediction;
  }

  /** The prediction that stands beside it; null where nothing is compared. */
  get compared(): Prediction | null {
    return this._compared;
  }

  /** The place of the GPU looked at. */
  get gpu(): number {
    return this._gpu;
  }

  /** Null: as it was asked. */
  get setting(): ISetting | null {
    return this._setting;
  }

  /** The prices that count here: those tried in this panel or output, before the reader's own. */
  get prices(): IPrices {
    const { ownPrices, basis } = this.preferences;
    return { triedPrices: this._triedPrices, ownPrices, basis };
  }

  /** On every GPU, in the order of the prediction. */
  get outcomes(): readonly IOutcome[] {
    this._outcomes ??= this._prediction
      ? outcomesOf(this._prediction, this._setting, this.prices, this._trans)
      : [];
    return this._outcomes;
  }

  /** On the GPU looked at. */
  get outcome(): IOutcome | null {
    return this.outcomes[this._gpu] ?? null;
  }

  /** On the GPU looked at, as it was asked. */
  get baseline(): IOutcome | null {
    return this._prediction
      ? outcomeOf(this._prediction, this._gpu, null, this.prices, this._trans)
      : null;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Look at another prediction. The same one again (with its grid, say) keeps GPU and setting. */
  show(prediction: Prediction | null): void {
    if (prediction === this._prediction) {
      return;
    }
    const isSame = prediction !== null && prediction.id === this._prediction?.id;
    const named = this._prediction?.gpus[this._gpu]?.name;
    const before = this._prediction;
    this._prediction = prediction;
    if (isSame && named !== undefined) {
      this._gpu = Math.max(0, prediction.placeOf(named));
      this._setting = this._setting && sameSetting(this._setting, before, prediction);
    } else {
      this._gpu = prediction?.focus ?? 0;
      this._setting = null;
    }
    this._emit('prediction');
  }

  compareWith(prediction: Prediction | null): void {
    if (prediction !== this._compared) {
      this._compared = prediction;
      this._emit('prediction');
    }
  }

  selectGpu(place: number): void {
    if (place !== this._gpu && this._prediction?.gpus[place]) {
      this._gpu = place;
      this._emit('gpu');
    }
  }

  /** Move on the axes of the grid; null goes back to what was asked. Without a grid nothing moves. */
  choose(setting: Partial<ISetting> | null): void {
    const grid = this._prediction?.grid;
    if (!grid) {
      return;
    }
    if (setting === null) {
      this._setting = null;
    } else {
      const next = { ...(this._setting ?? grid.start), ...setting };
      this._setting = grid.isOwn(next) ? null : next;
    }
    this._emit('setting');
  }

  /** See what a price of an hour would make of it; nothing of it is kept. */
  tryPrice(gpu: string, usdPerHour: number): void {
    this._triedPrices.set(gpu, usdPerHour);
    this._emit('preferences');
  }

  /** From now on this is the reader's own price, in all notebooks; null: the listed one. */
  keepPrice(gpu: string, usdPerHour: number | null): void {
    const wasTried = this._triedPrices.delete(gpu);
    if (usdPerHour === null && !this.preferences.ownPrices.has(gpu)) {
      if (wasTried) {
        this._emit('preferences');
      }
      return;
    }
    this.preferences.setOwnPrice(gpu, usdPerHour);
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.preferences.changed.disconnect(this._onPreferences, this);
      Signal.clearData(this);
    }
  }

  private _onPreferences(): void {
    this._emit('preferences');
  }

  private _emit(change: Change): void {
    if (change !== 'gpu') {
      this._outcomes = null;
    }
    this._changed.emit(change);
  }

  private readonly _changed = new Signal<this, Change>(this);
  private readonly _triedPrices = new Map<string, number>();
  private _prediction: Prediction | null = null;
  private _compared: Prediction | null = null;
  private _gpu = 0;
  private _setting: ISetting | null = null;
  private _outcomes: IOutcome[] | null = null;
  private _isDisposed = false;
}

// More batch sizes may have come between those that there were.
function sameSetting(
  setting: ISetting,
  before: Prediction | null,
  now: Prediction
): ISetting | null {
  const size = before?.grid?.view.batch_sizes[setting.batch] ?? NaN;
  const batch = now.grid?.view.batch_sizes.indexOf(size) ?? -1;
  return batch < 0 ? null : { ...setting, batch };
}
