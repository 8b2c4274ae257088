// Which GPUs are found, in which order, at which price? The table, its filter, its pins and its prices.

import { gpuFilter } from '../../src/gpu_filter';
import { nextSort, sorted } from '../../src/gpu_sort';
import { GpusBody } from '../../src/panels/gpus/body';
import type { ISectionContext } from '../../src/panels/section';
import { context, RESNET, texts, TRACE, view } from './demo';

const L4 = {
  words: 'l4 nvidia ada 2023 fits compute bound',
  memoryGb: 24,
  stepMs: 50,
  usdPerHour: 0.9
};

describe('the filter', () => {
  it.each([
    '',
    'ada',
    'ADA',
    'l4 ada',
    '>=24 GB',
    '>= 24 gb',
    '24 GB',
    '>20',
    '<$2',
    '< $ 1',
    '<=50 ms',
    '<=50000 µs',
    '<0.1 s',
    'fits',
    '-amd',
    'ada >=24 GB <$1'
  ])('lets an L4 through: %j', typed => {
    expect(gpuFilter(typed)(L4)).toBe(true);
  });

  it.each(['hopper', '>24 GB', '<24', '>$1', '<50ms', '-ada', 'ada hopper', '=80GB'])(
    'holds an L4 back: %j',
    typed => {
      expect(gpuFilter(typed)(L4)).toBe(false);
    }
  );

  it('compares nothing with what is not known', () => {
    const unpriced = { ...L4, usdPerHour: null };
    expect(gpuFilter('<$100')(unpriced)).toBe(false);
    expect(gpuFilter('>=$0')(unpriced)).toBe(false);
  });
});

describe('the order', () => {
  const rows = [3, null, 1, 2];

  it.each([
    [false, [1, 2, 3, null]],
    [true, [3, 2, 1, null]]
  ])('leaves what is not known last, descending %p', (isDescending, expected) => {
    expect(
      sorted(
        rows,
        row => row,
        isDescending,
        () => false
      )
    ).toEqual(expected);
  });

  it('puts what is pinned first', () => {
    expect(
      sorted(
        rows,
        row => row,
        false,
        row => row === 3
      )
    ).toEqual([3, 1, 2, null]);
  });

  it('turns round when the same heading is pressed again', () => {
    const once = nextSort({ key: 'step', isDescending: false }, 'cost');
    expect(once).toEqual({ key: 'cost', isDescending: false });
    expect(nextSort(once, 'cost').isDescending).toBe(true);
  });
});

describe('the table', () => {
  function drawn(shown = view()): { body: GpusBody; node: HTMLElement; held: ISectionContext } {
    const held = context(shown);
    const body = new GpusBody(held);
    body.update('prediction');
    held.selection.changed.connect((_, change) => {
      body.update(change);
    });
    return { body, node: body.node, held };
  }
  const names = (node: HTMLElement): string[] => texts(node, 'tbody .jp-SurferGpus-name');
  const press = (node: HTMLElement, selector: string): void => {
    node.querySelector<HTMLElement>(selector)?.click();
  };

  it.each([
    ['captured', RESNET],
    ['recorded', TRACE]
  ])('has a row for every GPU of a %s step, by time', (_, shown) => {
    const { node, held } = drawn(shown);
    expect(names(node)).toEqual(shown.rows.gpu);
    expect(held.selection.outcomes.map(one => one.step?.value)).toEqual(
      [...held.selection.outcomes].map(one => one.step?.value ?? 0).sort((a, b) => a - b)
    );
  });

  it('says step and range, and the price with what it rests on', () => {
    const { node } = drawn();
    const row = node.querySelector('tbody tr');
    expect(row?.textContent).toContain('10.0 ms');
    expect(row?.textContent).toContain('8.00 to 12.0 ms');
    expect(row?.textContent).toContain('$3.00');
    expect(node.textContent).toContain('median of 5 offers, on demand, 2026-05');
    expect(node.textContent).toContain('a list');
  });

  it('filters as it is typed, and says how many are left', () => {
    const { node } = drawn();
    const filter = node.querySelector<HTMLInputElement>('input[type=search]');
    expect(filter).not.toBeNull();
    if (filter) {
      filter.value = 'ada';
      filter.dispatchEvent(new Event('input'));
    }
    expect(names(node)).toEqual(['L4']);
    expect(node.textContent).toContain('1 of 2 GPUs');
  });

  it('sorts by a heading, both ways, and says which', () => {
    const { node } = drawn();
    press(node, 'th.jp-SurferGpus-gpu button');
    expect(names(node)).toEqual(['H100', 'L4']);
    press(node, 'th.jp-SurferGpus-gpu button');
    expect(names(node)).toEqual(['L4', 'H100']);
    expect(node.querySelector('th.jp-SurferGpus-gpu')?.getAttribute('aria-sort')).toBe(
      'descending'
    );
  });

  it('puts a pinned GPU first, and back', () => {
    const { node } = drawn();
    const pin = (): HTMLElement | undefined =>
      [...node.querySelectorAll<HTMLElement>('.jp-SurferGpus-pinButton')].find(
        one => one.getAttribute('aria-label') === 'Pin L4'
      );
    pin()?.click();
    expect(names(node)).toEqual(['L4', 'H100']);
    expect(pin()?.getAttribute('aria-pressed')).toBe('true');
    pin()?.click();
    expect(names(node)).toEqual(['H100', 'L4']);
  });

  it('counts cost at a price of the reader, which wins until it is taken back', () => {
    const { node, held } = drawn();
    const cost = (): number | undefined => held.selection.outcomes[0]?.usdPer1000Steps?.value;
    expect(cost()).toBeCloseTo((3 * 10 * 1000) / 3_600_000);
    press(node, 'tbody tr .jp-SurferGpus-priceButton');
    const field = node.querySelector<HTMLInputElement>('input[type=number]');
    expect(field?.value).toBe('3');
    if (field) {
      field.value = '1.5';
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
    }
    expect(cost()).toBeCloseTo((1.5 * 10 * 1000) / 3_600_000);
    expect(node.textContent).toContain('your own price');
    [...node.querySelectorAll('button')]
      .find(one => one.textContent === 'Use the listed price')
      ?.click();
    expect(cost()).toBeCloseTo((3 * 10 * 1000) / 3_600_000);
  });

  it('tries a price with the slider, and keeps it only when told so', () => {
    const { node, held } = drawn();
    const { preferences } = held.selection;
    const press = (text: string): void => {
      [...node.querySelectorAll('button')].find(one => one.textContent === text)?.click();
    };
    const slide = (value: string): void => {
      const slider = node.querySelector<HTMLInputElement>('.jp-SurferGpus-price input');
      if (slider) {
        slider.value = value;
        slider.dispatchEvent(new Event('input'));
      }
    };
    slide('5');
    expect(held.selection.outcome?.price.usdPerHour).toBe(5);
    expect(node.textContent).toContain('a price that you try');
    expect(preferences.ownPrices.size).toBe(0);
    press('Use the listed price');
    expect(held.selection.outcome?.price.usdPerHour).toBe(3);
    slide('6');
    press('Keep as my price');
    expect([...preferences.ownPrices]).toEqual([['H100', 6]]);
    expect(node.textContent).toContain('your own price');
    press('Use the listed price');
    expect(preferences.ownPrices.size).toBe(0);
  });

  it('leaves a price alone on Escape', () => {
    const { node, held } = drawn();
    press(node, 'tbody tr .jp-SurferGpus-priceButton');
    const field = node.querySelector<HTMLInputElement>('input[type=number]');
    if (field) {
      field.value = '9';
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
    }
    expect(node.querySelector('input[type=number]')).toBeNull();
    expect(held.selection.preferences.ownPrices.size).toBe(0);
  });

  it('takes spot prices where there are any, and says so', () => {
    const { node, held } = drawn();
    held.selection.preferences.setBasis('spot');
    expect(held.selection.outcomes.map(one => one.price.usdPerHour)).toEqual([1, null]);
    expect(node.textContent).toContain('spot, 2026-05');
  });

  it('shows another setting on all GPUs, and goes back', () => {
    const { node, held } = drawn();
    held.selection.choose({ batch: 1 });
    expect(node.querySelector('tbody tr')?.textContent).toContain('20.0 ms');
    expect(node.textContent).toContain('Shown for batch 16, as run, not compiled');
    [...node.querySelectorAll('button')].find(one => one.textContent === 'Back to as run')?.click();
    expect(node.querySelector('tbody tr')?.textContent).toContain('10.0 ms');
  });

  it('has a table twin for each figure with the same GPUs', () => {
    const { node } = drawn();
    for (const toggle of node.querySelectorAll<HTMLElement>('.jp-SurferFigure-toggle')) {
      toggle.click();
    }
    const twins = [...node.querySelectorAll('.jp-SurferFigure-table table')];
    expect(twins.length).toBe(2);
    expect(twins.every(twin => twin.textContent.includes('H100'))).toBe(true);
  });

  it('draws names as text, whatever they hold', () => {
    const hostile = '<img src=x onerror="alert(1)">';
    const { node } = drawn(view({ rows: { ...view().rows, gpu: [hostile, 'L4'] } }));
    expect(node.querySelector('img')).toBeNull();
    expect(names(node)).toContain(hostile);
  });
});
