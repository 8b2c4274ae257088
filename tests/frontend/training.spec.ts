// Is a training run shown as it goes on, from kernel and from output, and does it keep its reader's place?

import type { TrainingView } from '../../src/generated/protocol';
import { lossFigure, stalenessFigure } from '../../src/panels/training/figures';
import { readTraining } from '../../src/panels/training/model';
import { TrainingSection } from '../../src/panels/training/section';
import { Trainings } from '../../src/sources/trainings';
import { format, texts, trans } from './demo';

const COLUMNS = ['Phase', 'Groups', 'Momentum', 'Learning rate', 'Loss', 'Updates', 'Samples/s'];

function training(changes: Partial<TrainingView> = {}): TrainingView {
  return {
    schema_version: 1,
    id: 'run',
    revision: 1,
    title: 'Tuning make',
    recommendation: '2 groups, momentum 0.4, learning rate 0.1: target not reached in 5 s.',
    state: 'running',
    plan: {
      columns: ['Groups', 'Time'],
      rows: [
        ['1', '2 s'],
        ['2 (best)', '1 s']
      ]
    },
    workers: {
      columns: ['Worker', 'Samples/s'],
      rows: [
        ['0', '100'],
        ['1', '50']
      ]
    },
    trials: {
      columns: COLUMNS,
      rows: [
        ['1 measuring', '1', '0', '0.0001', '2.3', '3', '120'],
        ['2 trial', '2', '0.4', '0.1', '0.5', '40', '150']
      ]
    },
    staleness: [6, 3, 1],
    staleness_geometric: [5, 2.5, 2.5],
    staleness_note: 'Mean staleness 0.50 updates with 2 group(s).',
    target_loss: 0.1,
    curves: [
      { label: 'g=1', role: 'trial', seconds: [0, 1, 2], loss: [2, 1, 0] },
      { label: 'g=2', role: 'epoch', seconds: [2, 3], loss: [0.9, 0.5] }
    ],
    decisions: ['0.1 s measured: workers', '1.0 s chosen: g=2'],
    notes: [],
    running: { role: 'training', setting: 'g=2', updates: 1200, seconds: 4, loss: 0.42 },
    ...changes
  };
}

function drawn(view: TrainingView, isLive = true): TrainingSection {
  const section = new TrainingSection(trans, format);
  section.update([{ view, isLive }]);
  return section;
}

describe('the section of a training run', () => {
  it('says what is recommended, what runs now, and every phase', () => {
    const { node } = drawn(training());
    expect(texts(node, '.jp-SurferWhatIf-head')).toEqual(['Tuning make: running']);
    expect(texts(node, '.jp-SurferTraining-recommendation')[0]).toContain('2 groups');
    expect(texts(node, '.jp-SurferTraining-running')).toEqual([
      'Now training, g=2: 1,200 updates in 4 s, loss 0.420'
    ]);
    expect(texts(node, 'caption').slice(0, 2)).toEqual([
      'Phases, in their order',
      'Plan by number of groups'
    ]);
    expect(node.querySelectorAll('[aria-label="Phases, in their order"] tbody tr').length).toBe(2);
    expect(texts(node, '.jp-SurferTraining-decisions li').length).toBe(2);
  });

  it('redraws only what has changed', () => {
    const section = drawn(training());
    const rows = (): Element[] => [...section.node.querySelectorAll('tbody tr')];
    const before = rows();
    section.update([{ view: training({ revision: 2, recommendation: 'other' }), isLive: true }]);
    expect(texts(section.node, '.jp-SurferTraining-recommendation')).toEqual(['other']);
    expect(rows().every((row, index) => row === before[index])).toBe(true);
  });

  it.each([
    ['reached', 'target loss reached'],
    ['interrupted', 'interrupted'],
    ['ended', 'ended without the target loss'],
    ['failed', 'failed']
  ] as const)('says how it ended: %s', (state, words) => {
    const { node } = drawn(training({ state, running: null }));
    expect(texts(node, '.jp-SurferWhatIf-head')).toEqual([`Tuning make: ${words}`]);
    expect(node.querySelector<HTMLElement>('.jp-SurferTraining-running')?.hidden).toBe(true);
  });

  it('of a run that was saved in the middle does not say that it goes on', () => {
    const { node } = drawn(training(), false);
    expect(texts(node, '.jp-SurferWhatIf-head')[0]).toContain('not finished when this was saved');
    expect(texts(node, '.jp-SurferTraining-running')).toEqual(['']);
  });

  it('of a run that has only begun leaves out what there is nothing of', () => {
    const empty = { columns: COLUMNS, rows: [] };
    const { node } = drawn(
      training({
        plan: empty,
        trials: empty,
        workers: empty,
        curves: [],
        staleness: [],
        decisions: []
      })
    );
    const shown = [...node.children].filter(one => !(one as HTMLElement).hidden);
    expect(shown.map(one => one.className)).toEqual([
      'jp-SurferSection-title',
      'jp-SurferWhatIf-outcome',
      'jp-SurferTraining-notes'
    ]);
  });

  it('takes names as text', () => {
    const hostile = '<img src=x onerror=alert(1)>';
    const { node } = drawn(
      training({
        title: hostile,
        recommendation: hostile,
        decisions: [hostile],
        trials: { columns: [hostile], rows: [[hostile]] },
        notes: [hostile]
      })
    );
    expect(node.querySelector('img')).toBeNull();
    expect(node.textContent).toContain(hostile);
  });

  it('is gone with the run', () => {
    const section = drawn(training());
    section.update([]);
    expect(section.node.hidden).toBe(true);
  });

  it('lets one of several runs be chosen, until a new one comes', () => {
    const section = drawn(training());
    const run = section.node.querySelector('select');
    const field = section.node.querySelector<HTMLElement>('.jp-SurferTraining-run');
    const head = (): string[] => texts(section.node, '.jp-SurferWhatIf-head');
    expect(field?.hidden).toBe(true);
    const first = { view: training({ state: 'reached', running: null }), isLive: true };
    const second = { view: training({ id: 'second', title: 'Tuning other' }), isLive: true };
    section.update([first, second]);
    expect(field?.hidden).toBe(false);
    expect(texts(section.node, 'option')).toEqual([
      '1: Tuning make: target loss reached',
      '2: Tuning other: running'
    ]);
    expect(head()).toEqual(['Tuning other: running']);
    if (run) {
      run.value = 'run';
      run.dispatchEvent(new Event('change'));
    }
    expect(head()).toEqual(['Tuning make: target loss reached']);
    // the other goes on, and the reader stays
    section.update([first, { ...second, view: { ...second.view, revision: 2 } }]);
    expect(head()).toEqual(['Tuning make: target loss reached']);
    section.update([first, second, { view: training({ id: 'third' }), isLive: true }]);
    expect(head()).toEqual(['Tuning make: running']);
    expect(run?.value).toBe('third');
  });
});

describe('the figures of a training run', () => {
  it('draw training apart from trials, and only losses that a logarithm has', () => {
    const data = lossFigure(training(), trans, format);
    expect(data?.sources['kept']).toEqual({
      xs: [[2, 3]],
      ys: [[0.9, 0.5]],
      text: ['training: g=2']
    });
    expect(data?.sources['trials']?.['ys']).toEqual([[2, 1]]);
    expect(data?.sources['target']).toEqual({ loss: [0.1] });
    expect(data?.rows().length).toBe(4);
    expect(lossFigure(training({ curves: [] }), trans, format)).toBeNull();
  });

  it('lay the geometric distribution over the staleness', () => {
    const data = stalenessFigure(training(), trans, format);
    expect(data?.sources['bars']?.['lag']).toEqual([0, 1, 2]);
    expect(data?.sources['bars']?.['geometric']).toEqual([5, 2.5, 2.5]);
    expect(data?.rows()[0]).toEqual(['0', '6', '5.00']);
  });
});

describe('the runs of a notebook', () => {
  it('are known by id, newer views replacing older ones, whichever way they come', () => {
    const runs = new Trainings();
    expect(runs.all).toEqual([]);
    expect(runs.add(training({ revision: 2 }), true)).toBe(true);
    expect(runs.add(training({ revision: 2 }), false)).toBe(false); // the same, in the output
    expect(runs.add(training({ revision: 1 }), false)).toBe(false); // an older one, late
    expect(runs.add(training({ revision: 3 }), false)).toBe(true);
    expect(runs.all).toEqual([{ view: training({ revision: 3 }), isLive: true }]);
    runs.add(training({ id: 'other' }), true);
    runs.add(training({ revision: 4 }), true);
    expect(runs.all.map(({ view }) => view.id)).toEqual(['run', 'other']);
  });

  it('end with their kernel', () => {
    const runs = new Trainings();
    runs.add(training(), true);
    runs.withoutKernel();
    expect(runs.all.map(({ isLive }) => isLive)).toEqual([false]);
  });

  it('are read from outputs that have their shape', () => {
    expect(readTraining(training())).toEqual(training());
    for (const damaged of [
      null,
      [],
      {},
      { ...training(), schema_version: 2 },
      { ...training(), decisions: 'none' },
      { ...training(), trials: { columns: [], rows: [null] } },
      { ...training(), curves: [{ label: 'g=1' }] }
    ]) {
      expect(readTraining(damaged)).toBeNull();
    }
  });
});
