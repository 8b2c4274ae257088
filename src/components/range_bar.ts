// How does a number with its range look at a glance? A dot on a bar from low to high, on the scale of its column.

import { element } from './element';

/** Where a number lies on a scale, 0 to 1. */
export type Scale = (value: number) => number;

/** From 0 to `most`, evenly: lengths compare. */
export function evenScale(most: number): Scale {
  return value => (most > 0 ? value / most : 0);
}

/** From `least` to `most` by ratios: cards a hundred times apart can be told from each other at both ends. */
export function ratioScale(least: number, most: number): Scale {
  return value =>
    most > least && least > 0 ? Math.log(value / least) / Math.log(most / least) : 0;
}

/** A bar; it says nothing to screen readers, for the numbers stand beside it. */
export function rangeBar(): HTMLElement {
  const bar = element('span', 'RangeBar');
  bar.setAttribute('aria-hidden', 'true');
  return bar;
}

/** Draw these numbers. */
export function setRangeBar(
  bar: HTMLElement,
  range: { readonly low: number; readonly value: number; readonly high: number },
  scale: Scale
): void {
  const percent = (one: number): string =>
    `${(100 * Math.min(1, Math.max(0, scale(one)))).toFixed(2)}%`;
  bar.style.setProperty('--jp-surfer-low', percent(range.low));
  bar.style.setProperty('--jp-surfer-value', percent(range.value));
  bar.style.setProperty('--jp-surfer-high', percent(range.high));
}
