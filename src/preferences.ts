// Which GPUs are pinned, what does an hour cost this reader? Held once for panel and cell outputs, kept in the settings.

import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { JSONValue } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';

import type { IPreferences, PriceBasis } from './tokens';

/** The preferences of one JupyterLab window. */
export class Preferences implements IPreferences {
  get changed(): ISignal<IPreferences, void> {
    return this._changed;
  }

  get pinned(): ReadonlySet<string> {
    return this._pinned;
  }

  get ownPrices(): ReadonlyMap<string, number> {
    return this._ownPrices;
  }

  get basis(): PriceBasis {
    return this._basis;
  }

  togglePin(gpu: string): void {
    if (!this._pinned.delete(gpu)) {
      this._pinned.add(gpu);
    }
    this._keep('pinnedGpus', [...this._pinned]);
  }

  setOwnPrice(gpu: string, usdPerHour: number | null): void {
    if (usdPerHour === null) {
      this._ownPrices.delete(gpu);
    } else {
      this._ownPrices.set(gpu, usdPerHour);
    }
    this._keep('ownPrices', Object.fromEntries(this._ownPrices));
  }

  setBasis(basis: PriceBasis): void {
    this._basis = basis;
    this._keep('priceBasis', basis);
  }

  /** Read from, and from now on write to, these settings. */
  attach(settings: ISettingRegistry.ISettings): void {
    this._settings = settings;
    settings.changed.connect(this._read, this);
    this._read(settings);
  }

  private _read(settings: ISettingRegistry.ISettings): void {
    if (this._writing > 0) {
      return; // our own write coming back, perhaps older than what was set since
    }
    const { pinnedGpus, ownPrices, priceBasis } = settings.composite;
    this._pinned = new Set(
      Array.isArray(pinnedGpus) ? pinnedGpus.filter(name => typeof name === 'string') : []
    );
    this._ownPrices = new Map(
      Object.entries(typeof ownPrices === 'object' && ownPrices !== null ? ownPrices : {}).filter(
        (entry): entry is [string, number] => isPrice(entry[1])
      )
    );
    this._basis = priceBasis === 'spot' ? 'spot' : 'on-demand';
    this._changed.emit();
  }

  private _keep(key: string, value: JSONValue): void {
    this._changed.emit();
    const settings = this._settings;
    if (!settings) {
      return;
    }
    // of several changes in a moment, what is set last is what is kept
    clearTimeout(this._timers.get(key));
    this._timers.set(
      key,
      setTimeout(() => {
        this._writing += 1;
        settings
          .set(key, value)
          .catch((error: unknown) => {
            console.warn('Surfer Lab could not keep a setting', error);
          })
          .finally(() => {
            this._writing -= 1;
          });
      }, KEEP_AFTER_MS)
    );
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _timers = new Map<string, ReturnType<typeof setTimeout>>();
  private _pinned = new Set<string>();
  private _ownPrices = new Map<string, number>();
  private _basis: PriceBasis = 'on-demand';
  private _settings: ISettingRegistry.ISettings | null = null;
  private _writing = 0;
}

const KEEP_AFTER_MS = 400;

/** Whether this can be a price of an hour in USD: zero is one (a card that is paid for). */
export function isPrice(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
