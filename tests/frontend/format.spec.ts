// Do numbers read here as the kernel words them, and as the reader's locale writes them?

import { NumberFormat, namedTimeUnit, timeUnit } from '../../src/format';
import { DEMOS, format } from './demo';

const MS = namedTimeUnit('ms');

describe('in English, as surfer_lab/view/wording.py has it', () => {
  it.each([
    [126.4, '126'],
    [0.30712, '0.307'],
    [12345.6, '12,346'],
    [0, '0'],
    [9.999, '10.0'],
    [NaN, '–']
  ])('three significant digits of %p', (value, text) => {
    expect(format.significant(value)).toBe(text);
  });

  it.each([
    [126.4, '126 ms'],
    [41 * 60_000, '41 min'],
    [4_320_000, '1 h 12 min'],
    [0.00085, '0.850 µs'],
    [150_000, '2.5 min'],
    [null, '–']
  ])('a duration of %p ms', (ms, text) => {
    expect(format.duration(ms)).toBe(text);
  });

  it.each([
    [2.5, '$2.50'],
    [0.0123, '$0.0123'],
    [1234.5, '$1,235'],
    [0, '$0'],
    [0.00005, '$0.000050'],
    [1e-7, '<$0.000001'],
    [undefined, '–']
  ])('%p USD', (usd, text) => {
    expect(format.money(usd)).toBe(text);
  });

  it.each([
    [80, '80 GB'],
    [4.06, '4.06 GB'],
    [4, '4 GB'],
    [0.0001, '<0.001 GB']
  ])('%p GB', (gb, text) => {
    expect(format.memory(gb)).toBe(text);
  });

  it.each([
    [0.786, '79 %'],
    [0.002, '<1 %'],
    [0, '0 %'],
    [1, '100 %'],
    [0.997, '>99 %']
  ])('a share of %p', (share, text) => {
    expect(format.percent(share)).toBe(text);
  });

  it('says a range wherever it has a width, even where both ends read alike', () => {
    expect(format.timeRange(40, 60, MS)).toBe('40.0 to 60.0 ms');
    expect(format.timeRange(40.001, 40.002, MS)).toBe('');
    expect(format.timeRange(996, 999.4, MS)).toBe('996 to 999 ms');
    expect(format.memoryRange(0.0001, 0.0008)).toBe('<0.001 to <0.001 GB');
    expect(format.moneyRange(0.0098, 0.015)).toBe('$0.00980 to 0.0150');
  });

  it.each(Object.keys(DEMOS))('the recorded memory of %s', name => {
    for (const part of DEMOS[name]?.memory?.parts ?? []) {
      expect(format.memory(part.amount.value)).toBe(part.amount.text);
      expect(format.memoryRange(part.amount.low, part.amount.high)).toBe(
        part.amount.range_text ?? ''
      );
    }
  });
});

describe('in another locale', () => {
  const german = new NumberFormat('de-DE');

  it('takes its separators', () => {
    expect(german.significant(12345.6)).toBe('12.346');
    expect(german.time(1.5, MS)).toBe('1,50 ms');
    expect(german.memory(4)).toBe('4 GB');
    expect(german.money(2.5)).toBe('$2,50');
  });
});

it.each([
  [0.5, 'µs'],
  [1, 'ms'],
  [999, 'ms'],
  [1000, 's'],
  [1e7, 's'],
  [0, 'ms']
])('%p ms reads well in %s', (ms, name) => {
  expect(timeUnit(ms).name).toBe(name);
});
