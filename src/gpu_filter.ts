// Which GPUs does a filter of words let through? `ada`, `>=24 GB`, `<$2`, `<=50 ms`, `fits`, `-amd`: all must hold.

import type { IGpu } from './prediction';

/** What a filter sees of a row: its words, and the numbers that comparisons are about. */
export interface IFilterable {
  readonly words: string;
  readonly memoryGb: number | null;
  readonly stepMs: number | null;
  readonly usdPerHour: number | null;
}

type Test = (row: IFilterable) => boolean;

const COMPARISON = /^(>=|<=|>|<|=)(\$?)(\d+(?:[.,]\d+)?)\s*(gb|ms|µs|us|s|usd|\$|\/h|\$\/h)?$/;
// "24 GB", ">= 24 GB" and "< $ 2" are one condition each
const TOGETHER =
  /(>=|<=|>|<|=)?\s*(\$?)\s*(\d+(?:[.,]\d+)?)\s+(gb|ms|µs|us|s|usd|\$\/h|\/h)(?=\s|$)/g;

const COMPARE: Record<string, (value: number, limit: number) => boolean> = {
  '>=': (value, limit) => value >= limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '<': (value, limit) => value < limit,
  '=': (value, limit) => value === limit
};
const MS_PER: Record<string, number> = { ms: 1, s: 1000, µs: 1e-3, us: 1e-3 };

/** A test of rows from what was typed; nothing typed lets all through. */
export function gpuFilter(typed: string): Test {
  const joined = typed
    .toLowerCase()
    .replace(/([<>]=?|=|\$)\s+/g, '$1')
    .replace(
      TOGETHER,
      (_, sign: string | undefined, dollar: string, number: string, unit: string) =>
        `${sign ?? '='}${dollar}${number}${unit}`
    );
  const tests = joined.split(/\s+/).filter(Boolean).map(testOf);
  return row => tests.every(test => test(row));
}

function testOf(word: string): Test {
  const found = COMPARISON.exec(word);
  if (found) {
    const [, sign = '=', dollar = '', number = '', unit = ''] = found;
    const compare = COMPARE[sign];
    const limit = Number(number.replace(',', '.'));
    const valueOf = valueFor(dollar ? '$' : unit);
    if (compare) {
      return row => {
        const value = valueOf(row);
        return value !== null && compare(value, limit);
      };
    }
  }
  if (word.length > 1 && word.startsWith('-')) {
    const rest = word.slice(1);
    return row => !row.words.includes(rest);
  }
  return row => row.words.includes(word);
}

// A number without a unit is taken for memory, which cards are named by.
function valueFor(unit: string): (row: IFilterable) => number | null {
  const ms = MS_PER[unit];
  if (ms !== undefined) {
    return row => (row.stepMs === null ? null : row.stepMs / ms);
  }
  return ['$', 'usd', '/h', '$/h'].includes(unit) ? row => row.usdPerHour : row => row.memoryGb;
}

/** The words of a GPU that a filter finds. */
export function wordsOf(gpu: IGpu, verdict = gpu.verdict): string {
  return [gpu.name, gpu.vendor, gpu.architecture, gpu.year ?? '', verdict, gpu.bound]
    .join(' ')
    .toLowerCase();
}
