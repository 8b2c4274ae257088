// Does the panel say how things stand, what to do next, and show what there is?

import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import type { TrainingView } from '../../src/generated/protocol';
import { PanelBody, type IPanelCommands } from '../../src/panels/sidebar/body';
import { Preferences } from '../../src/preferences';
import { KernelLink } from '../../src/session';
import { Entries, type IEntry } from '../../src/sources/entries';
import type { ISource, IWork } from '../../src/sources/source';
import { FixedSource, type IFollowed } from '../../src/sources/sources';
import type { IFailure } from '../../src/tokens';
import { format, RESNET, texts, trans, view } from './demo';
import { FakeContext, FakeKernel, settled } from './kernels';

class FakeSource implements ISource {
  constructor(readonly link: KernelLink | null) {
    link?.stateChanged.connect(this.tell, this);
  }

  readonly kind = 'notebook';
  readonly changed: Signal<ISource, void> = new Signal<ISource, void>(this);
  readonly label = 'train.ipynb';
  readonly held = new Entries();
  readonly fetched: string[] = [];
  readonly done: string[] = [];
  chosen: string | null = null;
  compared: string | null = null;
  failure: IFailure | null = null;
  work: IWork | null = null;
  unreadable: readonly string[] = [];
  isDisposed = false;
  insert = (): unknown => this.done.push('insert');
  loadPackage = (): unknown => this.done.push('load');
  startKernel = (): unknown => this.done.push('start');

  get entries(): readonly IEntry[] {
    return this.held.list;
  }

  get newest(): IEntry | null {
    return this.held.newest;
  }

  addBatch(): Promise<void> {
    return Promise.resolve();
  }

  fetch(id: string): void {
    this.fetched.push(id);
  }

  tell(): void {
    this.changed.emit();
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

class Followed implements IFollowed {
  constructor(public source: ISource | null) {}
  readonly changed: Signal<IFollowed, void> = new Signal<IFollowed, void>(this);
  isDisposed = false;
  dispose(): void {
    this.isDisposed = true;
  }
}

const opened: string[] = [];
const COMMANDS: IPanelCommands = {
  openExample: () => opened.push('example'),
  openTrace: () => opened.push('trace'),
  openSettings: null,
  openInMain: null
};

function shown(followed: IFollowed): PanelBody {
  const panel = new PanelBody(followed, new Preferences(), trans, format, COMMANDS);
  Widget.attach(panel, document.body);
  return panel;
}

async function withKernel(
  kernel: FakeKernel | null
): Promise<{ source: FakeSource; panel: PanelBody; context: FakeContext }> {
  const context = new FakeContext(kernel);
  const source = new FakeSource(new KernelLink(context.asContext(), trans));
  const panel = shown(new Followed(source));
  await settled();
  return { source, panel, context };
}

const stateOf = (panel: PanelBody): string | undefined =>
  panel.node.querySelector<HTMLElement>('.jp-SurferState')?.dataset['state'];
const press = (panel: PanelBody, text: string): void => {
  [...panel.node.querySelectorAll('button')].find(one => one.textContent === text)?.click();
};

afterEach(() => {
  opened.length = 0;
  document.body.replaceChildren();
});

describe('a state', () => {
  it('without a notebook offers an example and a trace', () => {
    const panel = shown(new Followed(null));
    expect(stateOf(panel)).toBe('no-notebook');
    press(panel, 'Open an example');
    press(panel, 'Open a trace file');
    expect(opened).toEqual(['example', 'trace']);
  });

  it('without a kernel offers to start one', async () => {
    const { panel, source } = await withKernel(null);
    expect(stateOf(panel)).toBe('no-kernel');
    press(panel, 'Start a kernel');
    expect(source.done).toEqual(['start']);
  });

  it('of a kernel without the package offers to load it', async () => {
    const { panel, source } = await withKernel(new FakeKernel(false));
    expect(stateOf(panel)).toBe('unloaded');
    press(panel, 'Load Surfer Lab in this kernel');
    expect(source.done).toEqual(['load']);
  });

  it('of another version names both', async () => {
    const kernel = new FakeKernel();
    kernel.hello = { version: '9.9.9', schema_version: 9 };
    const { panel } = await withKernel(kernel);
    expect(stateOf(panel)).toBe('mismatch');
    expect(panel.node.textContent).toMatch(/9\.9\.9.*Install the same version/);
  });

  it('with nothing predicted says one thing to do, with an example, and that no GPU is needed', async () => {
    const { panel, source } = await withKernel(new FakeKernel());
    expect(stateOf(panel)).toBe('empty');
    expect(panel.node.querySelector('.jp-SurferState-example')?.textContent).toMatch(/^%%predict/);
    expect(panel.node.textContent).toContain('none is needed');
    expect(panel.node.querySelectorAll('.jp-mod-primary').length).toBe(1);
    press(panel, 'Insert into the selected cell');
    expect(source.done).toEqual(['insert']);
  });

  it('names the GPU that will be measured', async () => {
    const kernel = new FakeKernel();
    kernel.hello = { gpu: 'Tesla V100' };
    const { panel } = await withKernel(kernel);
    expect(panel.node.textContent).toContain('measured on Tesla V100');
  });

  it('of a busy kernel has a word', async () => {
    const { panel, context } = await withKernel(new FakeKernel());
    context.setStatus('busy');
    expect(stateOf(panel)).toBe('busy');
    expect(panel.node.textContent).toContain('running a cell');
  });

  it('of a dead kernel says so', async () => {
    const { panel, context } = await withKernel(new FakeKernel());
    context.setStatus('dead');
    expect(stateOf(panel)).toBe('dead');
  });

  it('of a trace that names no GPU offers those that it may be of', async () => {
    const { panel, source } = await withKernel(new FakeKernel());
    const named: string[] = [];
    Object.assign(source, { nameOrigin: (gpu: string) => named.push(gpu) });
    source.failure = {
      what: 'The trace does not say which GPU it was recorded on',
      why: '',
      remedy: 'choose it',
      details: '',
      gpus: ['T4', 'A100 SXM4 40GB']
    };
    source.tell();
    const origin = panel.node.querySelector<HTMLSelectElement>('.jp-SurferState-origin select');
    expect([...(origin?.options ?? [])].map(one => one.text)).toEqual(['T4', 'A100 SXM4 40GB']);
    if (origin) {
      origin.value = 'A100 SXM4 40GB';
    }
    [...panel.node.querySelectorAll('button')].find(one => one.textContent === 'Predict')?.click();
    expect(named).toEqual(['A100 SXM4 40GB']);
  });

  it('gives way to a training run that is tuned here, with no prediction there', async () => {
    const { panel, source } = await withKernel(new FakeKernel());
    const table = { columns: [], rows: [] };
    const view: TrainingView = {
      id: 'run',
      revision: 1,
      title: 'Tuning make',
      recommendation: 'Nothing was chosen yet.',
      state: 'running',
      plan: table,
      workers: table,
      trials: table,
      staleness: [],
      staleness_geometric: [],
      staleness_note: '',
      target_loss: 0.1,
      curves: [],
      decisions: [],
      notes: []
    };
    Object.assign(source, { trainings: [{ view, isLive: true }] });
    source.tell();
    const state = panel.node.querySelector<HTMLElement>('.jp-SurferState');
    expect(state?.hidden).toBe(true);
    expect(panel.node.querySelector('[data-section=training]')?.textContent).toContain(
      'Tuning make: running'
    );
    // what went wrong is told all the same
    source.failure = {
      what: 'This cell could not be predicted.',
      why: '',
      remedy: '',
      details: ''
    };
    source.tell();
    expect(state?.hidden).toBe(false);
  });

  it('of a failure says what, why, what to do, and copies it', async () => {
    const written: string[] = [];
    Object.assign(navigator, {
      clipboard: { writeText: (text: string) => Promise.resolve(void written.push(text)) }
    });
    const { panel, source } = await withKernel(new FakeKernel());
    source.failure = {
      what: 'It failed.',
      why: 'No steps.',
      remedy: 'Run more.',
      details: 'line 3'
    };
    source.tell();
    expect(stateOf(panel)).toBe('failed');
    for (const part of ['It failed.', 'No steps.', 'What to do: Run more.']) {
      expect(panel.node.textContent).toContain(part);
    }
    press(panel, 'Copy details');
    expect(written[0]).toContain('line 3');
  });

  it('of long work shows how far it is, in words, and can be cancelled', async () => {
    const { panel, source } = await withKernel(new FakeKernel());
    const cancel = jest.fn();
    source.work = { text: 'Reading', share: 0.25, cancel };
    source.tell();
    expect(stateOf(panel)).toBe('working');
    expect(panel.node.textContent).toContain('Reading');
    expect(panel.node.querySelector('progress')?.value).toBe(0.25);
    press(panel, 'Cancel');
    expect(cancel).toHaveBeenCalled();
  });

  it('of an output that cannot be read says why', async () => {
    const { panel, source } = await withKernel(null);
    source.unreadable = ['made by another version'];
    source.tell();
    expect(stateOf(panel)).toBe('mismatch');
    expect(panel.node.textContent).toContain('made by another version');
  });
});

describe('predictions', () => {
  it('are shown, the newest first, and chosen by name', async () => {
    const { panel, source } = await withKernel(null);
    source.held.addView(view());
    source.held.addView(view({ provenance: { id: 'two' }, name: 'another', focus: 1 }));
    source.tell();
    expect(panel.selection.prediction?.id).toBe('two');
    const choice = panel.node.querySelector<HTMLSelectElement>('.jp-SurferPanel-entry select');
    expect([...(choice?.options ?? [])].map(option => option.value)).toEqual(['two', 'one']);
    if (choice) {
      choice.value = 'one';
      choice.dispatchEvent(new Event('change'));
    }
    expect(panel.selection.prediction?.id).toBe('one');
    expect(texts(panel.node, '.jp-SurferSummary-sentence')[0]).toContain('40 ms');
  });

  it('stand side by side, GPU by GPU', async () => {
    const { panel, source } = await withKernel(null);
    source.held.addView(view());
    source.held.addView(view({ provenance: { id: 'two' }, name: 'another' }));
    source.compared = 'one';
    source.tell();
    const rows = texts(panel.node, '[data-section=compare] tbody tr');
    expect(rows.length).toBe(2);
    expect(rows[0]).toContain('equally fast');
  });

  it('work without a kernel, and say so', async () => {
    const { panel, source } = await withKernel(null);
    source.held.addView(RESNET);
    source.tell();
    expect(panel.node.querySelector('.jp-SurferPanel-notices')?.textContent).toContain('No kernel');
    expect(texts(panel.node, '.jp-SurferGpus-name')).toEqual(RESNET.rows.gpu);
  });

  it('are fetched where only the kernel has them', async () => {
    const { panel, source } = await withKernel(new FakeKernel());
    source.held.addEntry({
      provenance: { id: 'far' },
      name: 'far',
      title: '',
      headline: '',
      is_live: true
    });
    source.tell();
    expect(source.fetched).toContain('far');
    expect(panel.selection.prediction).toBeNull();
  });

  it('take their grid when it comes, and keep what was chosen', async () => {
    const { panel, source } = await withKernel(null);
    source.held.addView(view({ grid: null }));
    source.tell();
    panel.selection.selectGpu(1);
    source.held.addView(view());
    source.tell();
    expect(panel.selection.prediction?.grid).not.toBeNull();
    expect(panel.selection.outcome?.gpu.name).toBe('L4');
  });

  it('stay in the list in the order in which they were made', () => {
    const entries = new Entries();
    const made = (id: string, made_at: string): void => {
      entries.addView(view({ provenance: { id, made_at } }));
    };
    made('b', '2026-05-02T00:00:00+00:00');
    made('a', '2026-05-01T00:00:00+00:00');
    made('c', '');
    expect(entries.list.map(one => one.id)).toEqual(['a', 'b', 'c']);
  });

  it('outlive their kernel, unless only it had them', () => {
    const entries = new Entries();
    entries.addView(view(), { isLive: true });
    entries.addEntry({
      provenance: { id: 'far' },
      name: '',
      title: '',
      headline: '',
      is_live: true
    });
    entries.withoutKernel();
    expect(entries.list.map(one => [one.id, one.isLive])).toEqual([['one', false]]);
  });
});

describe('an operation', () => {
  it('is asked for from the kernel, all of them, and leads to its line', async () => {
    const { panel, source } = await withKernel(new FakeKernel());
    const revealed: string[] = [];
    Object.assign(source, { reveal: (line: string) => revealed.push(line) });
    const asked = jest.spyOn(source.link as KernelLink, 'ask');
    source.held.addView(view(), { isLive: true });
    source.tell();
    const section = panel.node.querySelector<HTMLDetailsElement>('[data-section=operations]');
    if (section) {
      section.open = true;
      section.dispatchEvent(new Event('toggle'));
    }
    expect(asked.mock.calls[0]?.[0]).toMatchObject({
      kind: 'operations',
      gpu: 'H100',
      prediction: 'one'
    });
    section?.querySelector<HTMLButtonElement>('.jp-SurferVirtual-row button')?.click();
    expect(revealed).toEqual(['In[3]:7']);
  });
});

describe('what is left behind', () => {
  it('is nothing when a panel is closed, comms of its source included', async () => {
    const kernel = new FakeKernel();
    const context = new FakeContext(kernel);
    const link = new KernelLink(context.asContext(), trans);
    const source = new FakeSource(link);
    source.dispose = () => {
      source.isDisposed = true;
      link.dispose();
    };
    const panel = shown(new FixedSource(source));
    await settled();
    source.held.addView(view());
    source.tell();
    expect(kernel.comms.size).toBe(1);
    panel.dispose();
    expect([kernel.comms.size, kernel.targets.size, context.connections]).toEqual([0, 0, 0]);
    source.tell(); // nobody listens
  });

  it('is nothing of the notebook that was active before', async () => {
    const [one, two] = [new FakeSource(null), new FakeSource(null)];
    one.held.addView(view());
    const followed = new Followed(one);
    const panel = shown(followed);
    expect(panel.selection.prediction?.id).toBe('one');
    followed.source = two;
    followed.changed.emit();
    expect(stateOf(panel)).toBe('no-kernel');
    one.held.addView(view({ provenance: { id: 'late' } }));
    one.tell();
    expect(panel.selection.prediction).toBeNull();
    panel.dispose();
    expect(followed.isDisposed).toBe(true);
    await settled();
  });
});
