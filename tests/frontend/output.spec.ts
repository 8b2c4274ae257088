// What is drawn below a cell, and what is said when it cannot be drawn?

import { MimeModel } from '@jupyterlab/rendermime';
import { nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { ViewModel } from '../../src/generated/view_model';
import { PredictionRenderer } from '../../src/panels/output';
import { readPrediction } from '../../src/panels/output/model';
import { PREDICTION_MIME_TYPE } from '../../src/tokens';
import { OWN_VERSION } from '../../src/version';
import { gpuRow, prediction, quantity } from './prediction';

const trans = nullTranslator.load('');

async function drawn(data: unknown): Promise<HTMLElement> {
  const renderer = new PredictionRenderer(trans);
  await renderer.renderModel(
    new MimeModel({ data: { [PREDICTION_MIME_TYPE]: data } as ReadonlyPartialJSONObject })
  );
  return renderer.node;
}

const gpuNames = (node: HTMLElement): (string | null | undefined)[] =>
  [...node.querySelectorAll('.jp-SurferOutput-gpus tbody th')].map(
    cell => cell.firstChild?.textContent
  );

describe('a prediction', () => {
  it('begins with its sentences', async () => {
    const sentences = [
      { role: 'step', label: '', text: 'Training step: 126 ms.' },
      { role: 'fastest', label: 'Fastest', text: 'H100, 20 ms.' }
    ] satisfies ViewModel['sentences'];
    const node = await drawn(prediction({ sentences }));
    const texts = [...node.querySelectorAll('.jp-SurferOutput-sentence')].map(
      one => one.textContent
    );
    expect(texts).toEqual(['Training step: 126 ms.', 'Fastest: H100, 20 ms.']);
  });

  it('shows the short list, and all GPUs on the button', async () => {
    const node = await drawn(prediction());
    const button = node.querySelector('button');
    expect(gpuNames(node)).toEqual(['A100 SXM4 80GB']);
    button?.click();
    expect(gpuNames(node)).toEqual(['A100 SXM4 80GB', 'Tesla V100']);
    expect(button?.getAttribute('aria-expanded')).toBe('true');
    button?.click();
    expect(gpuNames(node)).toEqual(['A100 SXM4 80GB']);
  });

  it('has no button when the short list holds all', async () => {
    const node = await drawn(prediction({ rows: [gpuRow('L4', '90 ms')], shortlist: ['L4'] }));
    expect(node.querySelector('button')).toBeNull();
  });

  it('shows a range beside its step time', async () => {
    const node = await drawn(prediction());
    expect(node.querySelector('.jp-SurferOutput-gpus')?.textContent).toContain('50 ms40 to 60 ms');
  });

  it('leaves out a column that no row has anything for', async () => {
    const headings = (node: HTMLElement): (string | null)[] =>
      [...node.querySelectorAll('.jp-SurferOutput-gpus thead th')].map(cell => cell.textContent);
    expect(headings(await drawn(prediction()))).not.toContain('Samples/s');
    const rows = [gpuRow('L4', '90 ms', { samples_per_s: quantity('640') })];
    expect(headings(await drawn(prediction({ rows, shortlist: ['L4'] })))).toContain('Samples/s');
  });

  it('shows the busy time beside the step when host times are inflated', async () => {
    const texts = async (shows_busy: boolean): Promise<string | null | undefined> =>
      (await drawn(prediction({ shows_busy }))).querySelector('.jp-SurferOutput-gpus')?.textContent;
    expect(await texts(true)).toContain('GPU busy');
    expect(await texts(false)).not.toContain('GPU busy');
  });

  it('shows an operation on the GPU in focus, with what limits it and how it was obtained', async () => {
    const row = (await drawn(prediction())).querySelector('.jp-SurferOutput-operations tbody tr');
    const texts = [...(row?.querySelectorAll('th, td') ?? [])].map(
      cell => cell.firstChild?.textContent
    );
    expect(texts).toEqual([
      'aten::convolution',
      '53 launches',
      'forward',
      '30 ms',
      '30 %',
      '12 ms',
      'compute',
      'wave scaling'
    ]);
  });

  it('folds what other precisions and compiling would give, with what is not possible and why', async () => {
    const row = {
      precision: 'amp-bf16',
      compile: 'off',
      label: 'AMP bf16',
      step: quantity('25 ms', '20 to 31 ms'),
      faster: quantity('2.0x faster'),
      memory: quantity('6 GB'),
      verdict: 'fits'
    } as const;
    const alternatives = [
      row,
      { ...row, label: 'TF32', step: quantity('–'), blocker: 'no TF32 on this GPU' }
    ];
    const fold = (
      await drawn(prediction({ alternatives, alternatives_note: 'On A100 SXM4 80GB.' }))
    ).querySelector('details.jp-SurferOutput-alternatives');
    expect(fold?.querySelectorAll('tbody tr').length).toBe(2);
    expect(fold?.textContent).toContain('20 to 31 ms');
    expect(fold?.textContent).toContain('no TF32 on this GPU');
  });

  it('folds where the memory goes', async () => {
    const parts = [
      { label: 'activations', amount: quantity('2.7 GB'), source: 'the captured storages' }
    ];
    const sums = {
      allocated: quantity('3 GB'),
      reserved: quantity('3.2 GB'),
      device: quantity('4 GB')
    };
    const node = await drawn(
      prediction({ memory: { gpu: 'L4', parts, ...sums, when: 'in the backward pass' } })
    );
    const fold = node.querySelector('details.jp-SurferOutput-memory');
    expect(fold?.querySelector('summary')?.textContent).toBe('Memory on L4');
    expect(fold?.textContent).toContain('the captured storages');
  });

  it('says which GPUs have no answer, and why', async () => {
    const node = await drawn(prediction({ blocked: [{ gpu: 'P100', why: 'no bf16' }] }));
    expect(node.querySelector('details.jp-SurferOutput-blocked')?.textContent).toContain('no bf16');
  });

  it('says for every GPU where its price, memory and time come from, folded', async () => {
    const grounds = (await drawn(prediction())).querySelector('details.jp-SurferOutput-grounds');
    expect(grounds?.hasAttribute('open')).toBe(false);
    expect(grounds?.querySelectorAll('tbody tr').length).toBe(2);
    expect(grounds?.textContent).toContain('median of 3 offers');
    expect(grounds?.textContent).toContain('10 GB needed');
    expect(grounds?.textContent).toContain('wave scaling 100 %');
  });

  it('marks the row of the recorded GPU in words', async () => {
    const node = await drawn(prediction({ shortlist: ['Tesla V100'] }));
    expect(node.querySelector('.jp-SurferTable-marked')?.textContent).toContain('recorded here');
  });

  it('draws names of a trace as text, whatever they hold', async () => {
    const hostile = '<img src=x onerror="alert(1)"><script>alert(1)</script>';
    const node = await drawn(
      prediction({
        sentences: [{ role: 'step', label: hostile, text: hostile }],
        rows: [gpuRow(hostile, hostile)],
        shortlist: [hostile],
        warnings: [hostile],
        focus: hostile
      })
    );
    expect(node.querySelector('img, script')).toBeNull();
    expect(node.textContent).toContain(hostile);
  });

  it('replaces what it drew when it is drawn again', async () => {
    const renderer = new PredictionRenderer(trans);
    for (const text of ['first', 'second']) {
      const data = {
        [PREDICTION_MIME_TYPE]: prediction({ sentences: [{ role: 'step', label: '', text }] })
      };
      await renderer.renderModel(
        new MimeModel({ data: data as unknown as ReadonlyPartialJSONObject })
      );
    }
    expect(renderer.node.textContent).toContain('second');
    expect(renderer.node.textContent).not.toContain('first');
  });

  it('gives every table a caption and every column a heading', async () => {
    const node = await drawn(prediction());
    for (const table of node.querySelectorAll('table')) {
      expect(table.caption?.textContent).toBeTruthy();
      expect([...(table.tHead?.rows[0]?.cells ?? [])].every(cell => cell.scope === 'col')).toBe(
        true
      );
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
      { ...prediction(), schema_version: 99, version: '9.1.0' },
      '0.1.0',
      trans
    );
    expect(read.kind).toBe('unreadable');
    expect(read.kind === 'unreadable' && read.reason).toMatch(/9\.1\.0.*0\.1\.0/);
  });

  it.each(['rows', 'sentences', 'shortlist', 'warnings', 'operations'])(
    'refuses a prediction without %s',
    name => {
      const damaged = { ...prediction(), [name]: undefined };
      expect(readPrediction(damaged, OWN_VERSION, trans).kind).toBe('unreadable');
    }
  );

  it('refuses a row without its numbers', () => {
    const damaged = { ...prediction(), rows: [{ gpu: 'L4' }] };
    expect(readPrediction(damaged, OWN_VERSION, trans).kind).toBe('unreadable');
  });

  it('says that a prediction is damaged where it cannot be drawn to its end', async () => {
    const log = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const node = await drawn({ ...prediction(), memory: { gpu: 'L4' } });
    expect(node.querySelector('[role=alert]')?.textContent).toContain('damaged');
    expect(log).toHaveBeenCalled();
    log.mockRestore();
  });

  it('says when kernel and front end differ, and still draws', () => {
    const read = readPrediction(prediction({ version: '0.0.9' }), '0.1.0', trans);
    expect(read.kind === 'readable' && read.note).toMatch(/0\.0\.9.*0\.1\.0/);
  });

  it('says nothing about versions when they agree', () => {
    const read = readPrediction(prediction({ version: OWN_VERSION }), OWN_VERSION, trans);
    expect(read.kind === 'readable' && read.note).toBe('');
  });
});
