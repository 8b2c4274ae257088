// What does a step take, need and cost on a GPU at a setting? Chosen from what the kernel computed, never computed anew.
//
// At the setting that was asked about, these are the numbers of the prediction's own row, to the last digit; elsewhere
// those of the grid. What follows from them by definition is worked out here: samples a second, price x hours.

import type { TranslationBundle } from '@jupyterlab/translation';

import type { NumberFormat } from './format';
import type { IGpu, IRanged, ISetting, Prediction } from './prediction';
import { costOf, priceOf, type IPrice } from './prices';
import type { IPrices } from './tokens';

/** A step on one GPU; null is "not known". */
export interface IOutcome {
  readonly gpu: IGpu;
  readonly batchSize: number | null;
  readonly step: IRanged | null;
  readonly memoryGb: number | null;
  readonly memoryHighGb: number | null;
  readonly verdict: string;
  readonly samplesPerS: number | null;
  readonly price: IPrice;
  readonly usdPer1000Steps: IRanged | null;
  readonly epochMs: number | null;
  readonly usdPerEpoch: number | null;
  /** Why there is no step. */
  readonly blocker: string;
}

const MS_PER_S = 1000;

/** The outcome on the GPU at a place; `setting` null: as it was asked. */
export function outcomeOf(
  prediction: Prediction,
  place: number,
  setting: ISetting | null,
  prices: IPrices,
  trans: TranslationBundle
): IOutcome | null {
  const gpu = prediction.gpus[place];
  if (!gpu) {
    return null;
  }
  const { grid, stored } = prediction;
  const chosen = setting !== null && grid !== null && !grid.isOwn(setting) ? setting : null;
  const step = chosen && grid ? grid.step(place, chosen) : gpu.step;
  const memory = chosen && grid ? grid.memory(place, chosen) : null;
  const batchSize =
    chosen && grid ? (grid.view.batch_sizes[chosen.batch] ?? null) : (stored.batch_size ?? null);
  const price = priceOf(gpu, prices, trans);
  const steps =
    batchSize && stored.dataset_size ? Math.ceil(stored.dataset_size / batchSize) : null;
  const epochMs = step && steps ? step.value * steps : null;
  const cost = (ms: number): number | null => costOf(price, 1000 * ms);
  return {
    gpu,
    batchSize,
    step,
    memoryGb: chosen ? (memory?.likely ?? null) : (gpu.neededGb?.value ?? null),
    memoryHighGb: chosen ? (memory?.high ?? null) : (gpu.neededGb?.high ?? null),
    verdict: chosen && grid ? grid.verdict(place, chosen) : gpu.verdict,
    samplesPerS: step && batchSize ? (batchSize * MS_PER_S) / step.value : null,
    price,
    usdPer1000Steps:
      step && price.usdPerHour !== null
        ? { value: cost(step.value) ?? 0, low: cost(step.low) ?? 0, high: cost(step.high) ?? 0 }
        : null,
    epochMs,
    usdPerEpoch: costOf(price, epochMs),
    blocker:
      step || !chosen || !grid
        ? ''
        : grid.blocker(place, chosen.precision) || trans.__('no answer for this setting')
  };
}

/** The outcomes on all GPUs, in the order of the prediction. */
export function outcomesOf(
  prediction: Prediction,
  setting: ISetting | null,
  prices: IPrices,
  trans: TranslationBundle
): IOutcome[] {
  return prediction.gpus.flatMap(gpu => {
    const one = outcomeOf(prediction, gpu.index, setting, prices, trans);
    return one ? [one] : [];
  });
}

/** "3.71x faster", "2.00x slower": a ratio of times with its direction in words. */
export function fasterText(
  ratio: number | null,
  format: NumberFormat,
  trans: TranslationBundle
): string {
  if (ratio === null || !Number.isFinite(ratio) || ratio <= 0) {
    return '–';
  }
  if (Math.abs(ratio - 1) < 0.01) {
    return trans.__('equally fast');
  }
  return ratio > 1
    ? trans.__('%1x faster', format.significant(ratio))
    : trans.__('%1x slower', format.significant(1 / ratio));
}

/** GPUs that no other beats in both time and cost, fastest first. */
export function pareto(outcomes: readonly IOutcome[]): IOutcome[] {
  const priced = outcomes
    .filter(one => one.step !== null && one.usdPer1000Steps !== null)
    .sort(
      (a, b) =>
        (a.step?.value ?? 0) - (b.step?.value ?? 0) ||
        (a.usdPer1000Steps?.value ?? 0) - (b.usdPer1000Steps?.value ?? 0)
    );
  let cheapest = Infinity;
  return priced.filter(one => {
    const cost = one.usdPer1000Steps?.value ?? Infinity;
    if (cost >= cheapest) {
      return false;
    }
    cheapest = cost;
    return true;
  });
}
