// How is a number worded for this reader? As surfer_lab/view/wording.py words it, with the separators of the locale.
// A test holds the two together: what is formatted here from a view's raw numbers reads as the view's own texts.

/** What is not known reads as an en dash, never as a zero. */
export const UNKNOWN = '–';

const TIME_UNITS: readonly { readonly name: string; readonly ms: number }[] = [
  { name: 'µs', ms: 1e-3 },
  { name: 'ms', ms: 1 },
  { name: 's', ms: 1e3 }
];
const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;
const MOST_DECIMALS = 9;

/** Numbers as text in one locale; times in ms, memory in GB (10^9 bytes), money in USD. */
export class NumberFormat {
  constructor(private readonly _locale?: string) {}

  /** Three significant digits, thousands grouped, never in scientific form. */
  significant(value: number, digits = 3): string {
    if (value === 0) {
      return this.fixed(0, 0);
    }
    if (!Number.isFinite(value)) {
      return UNKNOWN;
    }
    const first = Number(value.toFixed(decimalsFor(value, digits)));
    return this.fixed(value, decimalsFor(first === 0 ? value : first, digits));
  }

  /** So many digits behind the separator. */
  fixed(value: number, decimals: number): string {
    const places = Math.min(decimals, MOST_DECIMALS);
    const kept = this._formats.get(places);
    if (kept) {
      return kept.format(value);
    }
    const made = new Intl.NumberFormat(this._locale, {
      minimumFractionDigits: places,
      maximumFractionDigits: places
    });
    this._formats.set(places, made);
    return made.format(value);
  }

  /** How many: whole numbers as they are, means of several steps with three digits. */
  count(value: number): string {
    return Number.isInteger(value) ? this.fixed(value, 0) : this.significant(value);
  }

  /** A duration in the unit that suits it; minutes and hours as people say them. */
  duration(ms: number | null | undefined): string {
    if (ms === null || ms === undefined || !Number.isFinite(ms)) {
      return UNKNOWN;
    }
    if (ms >= 100 * MS_PER_HOUR) {
      return `${this.significant(ms / MS_PER_HOUR)} h`;
    }
    const minutes = Math.round(ms / MS_PER_MINUTE);
    if (minutes >= 60) {
      const rest = minutes % 60;
      const hours = `${this.fixed(Math.floor(minutes / 60), 0)} h`;
      return rest ? `${hours} ${rest} min` : hours;
    }
    if (ms >= 10 * MS_PER_MINUTE) {
      return `${this.fixed(minutes, 0)} min`;
    }
    if (ms >= 2 * MS_PER_MINUTE) {
      return `${this.fixed(ms / MS_PER_MINUTE, 1)} min`;
    }
    const unit = timeUnit(ms);
    return `${this.significant(ms / unit.ms)} ${unit.name}`;
  }

  /** A time in the unit of its column. */
  time(ms: number | null | undefined, unit: ITimeUnit): string {
    return ms === null || ms === undefined || !Number.isFinite(ms)
      ? UNKNOWN
      : `${this.significant(ms / unit.ms)} ${unit.name}`;
  }

  /** "40.0 to 60.0 ms"; empty where both ends read the same or one is not known. */
  timeRange(
    low: number | null | undefined,
    high: number | null | undefined,
    unit: ITimeUnit
  ): string {
    return this._range(low, high, value => this.significant(value / unit.ms), ` ${unit.name}`);
  }

  /** USD: cents from a dollar up, three significant digits below. */
  money(usd: number | null | undefined): string {
    return usd === null || usd === undefined || !Number.isFinite(usd)
      ? UNKNOWN
      : this._amount(usd, '$');
  }

  moneyRange(low: number | null | undefined, high: number | null | undefined): string {
    return this._range(low, high, value => this._amount(value, ''), '', '$');
  }

  /** Memory in GB. */
  memory(gb: number | null | undefined): string {
    return gb === null || gb === undefined || !Number.isFinite(gb)
      ? UNKNOWN
      : `${this._gigabytes(gb)} GB`;
  }

  memoryRange(low: number | null | undefined, high: number | null | undefined): string {
    return this._range(low, high, value => this._gigabytes(value), ' GB');
  }

  /** A share in percent; a share above 0 never reads 0. */
  percent(fraction: number): string {
    if (fraction > 0 && fraction <= 0.005) {
      return `<${this.fixed(1, 0)} %`;
    }
    if (fraction >= 0.995 && fraction < 1) {
      return `>${this.fixed(99, 0)} %`;
    }
    return `${this.fixed(100 * fraction, 0)} %`;
  }

  private _amount(usd: number, sign: string): string {
    if (usd === 0) {
      return `${sign}${this.fixed(0, 0)}`;
    }
    if (usd < 0.0001) {
      return usd >= 0.000001
        ? `${sign}${this.significant(usd, 2)}`
        : `<${sign}${this.fixed(0.000001, 6)}`;
    }
    const decimals = usd >= 1000 ? 0 : usd >= 0.995 ? 2 : null;
    return `${sign}${decimals === null ? this.significant(usd) : this.fixed(usd, decimals)}`;
  }

  private _gigabytes(value: number): string {
    if (value > 0 && value < 0.001) {
      return `<${this.fixed(0.001, 3)}`;
    }
    // cards print whole gigabytes without zeros
    const text = this.significant(value);
    const zero = this.fixed(0, 0);
    const separator = this.fixed(0.5, 1).slice(1, 2);
    const end = [`${separator}${zero}`, `${separator}${zero}${zero}`].find(one =>
      text.endsWith(one)
    );
    return end ? text.slice(0, -end.length) : text;
  }

  private _range(
    low: number | null | undefined,
    high: number | null | undefined,
    word: (value: number) => string,
    after: string,
    before = ''
  ): string {
    if (low === null || low === undefined || high === null || high === undefined) {
      return '';
    }
    // what was measured or counted exactly has no range; packing moves its ends a little
    const isPoint = Math.abs(high - low) <= 1e-3 * Math.max(Math.abs(low), Math.abs(high));
    return isPoint ? '' : `${before}${word(low)} to ${word(high)}${after}`;
  }

  private readonly _formats = new Map<number, Intl.NumberFormat>();
}

/** A unit that a column of times shares. */
export interface ITimeUnit {
  readonly name: string;
  readonly ms: number;
}

/** The unit in which this time reads well: it lies in [1, 1000) of it, s at most. */
export function timeUnit(ms: number): ITimeUnit {
  const found = TIME_UNITS.find(unit => ms > 0 && ms < 1000 * unit.ms);
  return found ?? (ms > 0 ? TIME_UNITS[2] : TIME_UNITS[1]) ?? { name: 'ms', ms: 1 };
}

/** The unit of that name, ms where there is none. */
export function namedTimeUnit(name: string): ITimeUnit {
  return TIME_UNITS.find(unit => unit.name === name) ?? { name: 'ms', ms: 1 };
}

function decimalsFor(value: number, digits: number): number {
  return Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
}
