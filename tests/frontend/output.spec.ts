// What is drawn below a cell, and what is said when it cannot be drawn?

import { MimeModel } from '@jupyterlab/rendermime';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { StoredView } from '../../src/generated/protocol';
import { PredictionRenderer } from '../../src/panels/output';
import { readPrediction } from '../../src/panels/output/model';
import { Preferences } from '../../src/preferences';
import { PREDICTION_MIME_TYPE } from '../../src/tokens';
import { OWN_VERSION } from '../../src/version';
import { DEMOS, texts, trans, view } from './demo';

async function drawn(data: unknown): Promise<HTMLElement> {
  const renderer = new PredictionRenderer(trans, new Preferences());
  await renderer.renderModel(
    new MimeModel({ data: { [PREDICTION_MIME_TYPE]: data } as ReadonlyPartialJSONObject })
  );
  return renderer.node;
}

const frame = (): Promise<unknown> => new Promise(resolve => requestAnimationFrame(resolve));

describe('a prediction', () => {
  it('begins with its sentences', async () => {
    const sentences = [
      { role: 'step', label: '', text: 'Training step: 126 ms.' },
      { role: 'fastest', label: 'Fastest', text: 'H100, 20 ms.' }
    ] satisfies StoredView['sentences'];
    const node = await drawn(view({ sentences }));
    expect(texts(node, '.jp-SurferSummary-sentence')).toEqual([
      'Training step: 126 ms.',
      'Fastest H100, 20 ms.'
    ]);
  });

  it.each(Object.entries(DEMOS))(
    'of %s is drawn with no kernel, each section without a fault',
    async (_, stored) => {
      const node = await drawn(stored);
      for (const details of node.querySelectorAll('details')) {
        details.open = true;
        details.dispatchEvent(new Event('toggle'));
      }
      expect(node.querySelector('[role=alert]')).toBeNull();
      expect(texts(node, '.jp-SurferGpus-name')).toEqual(stored.rows.gpu);
      expect(node.querySelectorAll('.jp-SurferVirtual-row').length).toBeGreaterThan(3);
    }
  );

  it('answers its sliders from what is stored', async () => {
    const node = await drawn(view());
    const step = (): string | null | undefined =>
      node.querySelector('.jp-SurferWhatIf-step')?.textContent;
    expect(step()).toBe('10.0 ms');
    const batch = node.querySelector<HTMLInputElement>('.jp-SurferWhatIf-batch input');
    if (batch) {
      batch.value = '1';
      batch.dispatchEvent(new Event('input'));
    }
    await frame();
    expect(step()).toBe('20.0 ms');
    expect(node.querySelector('.jp-SurferWhatIf-facts')?.textContent).toContain(
      'equally fast a sample'
    );
    const gpu = node.querySelector<HTMLSelectElement>('.jp-SurferWhatIf-gpu select');
    if (gpu) {
      gpu.value = '1';
      gpu.dispatchEvent(new Event('change'));
    }
    await frame();
    expect(step()).toBe('40.0 ms');
    expect(node.querySelector('.jp-SurferWhatIf-facts')?.textContent).toContain('does not fit');
    expect(node.querySelector('.jp-SurferWhatIf-batch output')?.textContent).toContain(
      'up to 8 fit'
    );
  });

  it('offers no precision that the GPU has no units for', async () => {
    const node = await drawn(view({ focus: 1 }));
    const options = node.querySelectorAll<HTMLOptionElement>('.jp-SurferWhatIf-precision option');
    expect([...options].map(option => option.disabled)).toEqual([false, true]);
  });

  it('hides controls that have one choice only', async () => {
    const node = await drawn(view());
    const isHidden = (part: string): boolean | undefined =>
      node.querySelector<HTMLElement>(`.jp-SurferWhatIf-${part}`)?.hidden;
    expect([isHidden('compile'), isHidden('mode'), isHidden('count')]).toEqual([true, true, true]);
    expect([isHidden('batch'), isHidden('precision')]).toEqual([false, false]);
  });

  it('says that choices are on their way while there is no grid', async () => {
    const node = await drawn(view({ grid: null }));
    expect(node.querySelector('.jp-SurferWhatIf')?.textContent).toContain('being worked out');
    expect(node.querySelector('.jp-SurferWhatIf-step')?.textContent).toBe('10.0 ms');
  });

  it('draws names of a trace as text, whatever they hold', async () => {
    const hostile = '<img src=x onerror="alert(1)"><script>alert(1)</script>';
    const node = await drawn(
      view({
        sentences: [{ role: 'step', label: hostile, text: hostile }],
        rows: { ...view().rows, gpu: [hostile, hostile] },
        warnings: [hostile]
      })
    );
    expect(node.querySelector('img, script')).toBeNull();
    expect(node.textContent).toContain(hostile);
  });

  it('replaces what it drew when it is drawn again', async () => {
    const renderer = new PredictionRenderer(trans, new Preferences());
    for (const text of ['first', 'second']) {
      const data = {
        [PREDICTION_MIME_TYPE]: view({ sentences: [{ role: 'step', label: '', text }] })
      };
      await renderer.renderModel(
        new MimeModel({ data: data as unknown as ReadonlyPartialJSONObject })
      );
    }
    expect(renderer.node.textContent).toContain('second');
    expect(renderer.node.textContent).not.toContain('first');
  });

  it('gives every table a caption and every column a heading', async () => {
    const node = await drawn(DEMOS['resnet50']);
    expect(node.querySelectorAll('table').length).toBeGreaterThan(1);
    for (const table of node.querySelectorAll('table')) {
      expect(table.caption?.textContent).toBeTruthy();
      expect([...(table.tHead?.rows[0]?.cells ?? [])].every(cell => cell.scope === 'col')).toBe(
        true
      );
    }
  });

  it('ties every field to a name', async () => {
    const node = await drawn(DEMOS['resnet50']);
    for (const field of node.querySelectorAll('input, select')) {
      const label = field.id && node.querySelector(`label[for="${field.id}"]`)?.textContent;
      expect(label || field.getAttribute('aria-label')).toBeTruthy();
    }
  });
});

describe('reading', () => {
  it.each([null, 3, 'text', [], {}, { schema_version: '1' }])(
    'refuses %p with what to do',
    async data => {
      const node = await drawn(data);
      expect(node.querySelector('[role=alert]')?.textContent).toContain('Run the cell again');
    }
  );

  it('refuses another schema and names both versions', () => {
    const read = readPrediction(
      { ...view(), schema_version: 99, version: '9.1.0' },
      '0.1.0',
      trans
    );
    expect(read.kind).toBe('unreadable');
    expect(read.kind === 'unreadable' && read.reason).toMatch(/9\.1\.0.*0\.1\.0/);
  });

  it.each([
    'rows',
    'sentences',
    'shortlist',
    'warnings',
    'operations',
    'operation_ms',
    'provenance'
  ])('refuses a prediction without %s', name => {
    const damaged = { ...view(), [name]: undefined };
    expect(readPrediction(damaged, OWN_VERSION, trans).kind).toBe('unreadable');
  });

  it('refuses rows without their numbers', () => {
    const damaged = { ...view(), rows: { gpu: ['L4'] } };
    expect(readPrediction(damaged, OWN_VERSION, trans).kind).toBe('unreadable');
  });

  it('says where a prediction is damaged and draws the rest', async () => {
    const log = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const node = await drawn({ ...view(), memory: { gpu: 'L4' } });
    const [told] = texts(node, '[role=alert]');
    expect(told).toContain('damaged');
    expect(texts(node, '.jp-SurferGpus-name')).toEqual(['H100', 'L4']);
    expect(log).toHaveBeenCalled();
    log.mockRestore();
  });

  it('says when kernel and front end differ, and still draws', () => {
    const read = readPrediction(view({ version: '0.0.9' }), '0.1.0', trans);
    expect(read.kind === 'readable' && read.note).toMatch(/0\.0\.9.*0\.1\.0/);
  });

  it('says nothing about versions when they agree', () => {
    const read = readPrediction(view({ version: OWN_VERSION }), OWN_VERSION, trans);
    expect(read.kind === 'readable' && read.note).toBe('');
  });
});
