// What does an hour of this GPU cost the reader, and what is that price? The only arithmetic of this front end is here:
// price x hours. The reader's own price wins; without any price there is no cost, never a zero.

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IGpu, IListedPrice } from './prediction';
import type { IPrices } from './tokens';

/** A price of one hour, and what it rests on. */
export type IPrice = IListedPrice;

const MS_PER_HOUR = 3_600_000;

/** The price that counts for this GPU. An own price is for one GPU, also where they are rented out together. */
export function priceOf(gpu: IGpu, prices: IPrices, trans: TranslationBundle): IPrice {
  const tried = prices.triedPrices?.get(gpu.name);
  if (tried !== undefined) {
    const note = trans.__('a price that you try');
    return { usdPerHour: tried, isOwn: true, isTried: true, note, asOf: '', source: '' };
  }
  const own = prices.ownPrices.get(gpu.name);
  if (own !== undefined) {
    return { usdPerHour: own, isOwn: true, note: trans.__('your own price'), asOf: '', source: '' };
  }
  return prices.basis === 'spot' && gpu.spot ? gpu.spot : gpu.listed;
}

/** USD of so many milliseconds at that price; null where the price or the time is not known. */
export function costOf(price: IPrice, ms: number | null | undefined): number | null {
  return price.usdPerHour === null || ms === null || ms === undefined
    ? null
    : price.usdPerHour * (ms / MS_PER_HOUR);
}
