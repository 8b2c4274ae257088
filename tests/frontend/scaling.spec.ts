// Does the section of several GPUs show the curve that the kernel worked out, for each link?

import type { ScalingView, StoredView } from '../../src/generated/protocol';
import { scalingSection } from '../../src/panels/scaling';
import { ScalingBody } from '../../src/panels/scaling/body';
import { scalingFigure } from '../../src/panels/scaling/figure';
import { Prediction } from '../../src/prediction';
import { context, texts, view } from './demo';

// compute takes 100 ms; on n GPUs 10 (n - 1) ms of communication stay exposed over PCIe, a tenth of that over NVLink
function curve(link: string, exposedMs: number): ScalingView {
  const rows = [1, 2, 4].map(gpus => {
    const exposed = exposedMs * (gpus - 1);
    return {
      gpus,
      nodes: 1,
      step_ms: 100 + exposed,
      low_ms: 90 + exposed,
      high_ms: 110 + 2 * exposed,
      efficiency: 100 / (100 + exposed),
      compute_ms: 100,
      exposed_ms: exposed,
      hidden_ms: 5 * (gpus - 1),
      sent_gb: 0.5 * (gpus - 1),
      samples_per_s: (gpus * 8000) / (100 + exposed),
      verdict: 'fits'
    };
  });
  return {
    title: 'On several GPUs: box, data parallel (DDP)',
    gpu: 'H100',
    machine: 'box',
    link,
    strategy: 'ddp',
    rows,
    columns: ['GPUs', 'Step'],
    table: rows.map(row => [String(row.gpus), `${row.step_ms} ms`]),
    notes: ['per GPU batch fixed']
  };
}

const SCALED: Partial<StoredView> = {
  scaling: curve('NVLink 4', 1),
  scaling_links: [curve('PCIe 5', 10)]
};

function drawn(changes: Partial<StoredView> = SCALED): ScalingBody {
  const body = new ScalingBody(context(view(changes)));
  body.update('prediction');
  return body;
}

function choose(body: ScalingBody, name: string, value: string): void {
  const control = body.node.querySelector<HTMLSelectElement>(`.jp-SurferScaling-${name} select`);
  if (control) {
    control.value = value;
    control.dispatchEvent(new Event('change'));
  }
}

describe('the section of several GPUs', () => {
  it('is there where a curve was asked about', () => {
    expect(scalingSection.has(new Prediction(view()), null)).toBe(false);
    expect(scalingSection.has(new Prediction(view(SCALED)), null)).toBe(true);
  });

  it('answers for the most GPUs first, with range, efficiency and what is exposed', () => {
    const { node } = drawn();
    expect(texts(node, '.jp-SurferWhatIf-step')).toEqual(['103 ms']);
    expect(texts(node, '.jp-SurferWhatIf-range')).toEqual(['93.0 to 116 ms']);
    expect(texts(node, 'dd')[0]).toBe('97 %: 3.88 times the work of one H100');
    expect(texts(node, 'dd')[1]).toBe(
      '3.00 ms exposed, 15.0 ms behind compute; each GPU sends 1.50 GB a step'
    );
  });

  it('changes with the link and the number of GPUs', () => {
    const body = drawn();
    choose(body, 'link', 'PCIe 5');
    expect(texts(body.node, '.jp-SurferWhatIf-step')).toEqual(['130 ms']);
    expect(texts(body.node, '.jp-SurferWhatIf-head')[0]).toContain('PCIe 5');
    choose(body, 'count', '2');
    expect(texts(body.node, '.jp-SurferWhatIf-step')).toEqual(['110 ms']);
    choose(body, 'count', '1');
    expect(texts(body.node, 'dt')).not.toContain('Communication'); // one GPU talks to nobody
  });

  it('offers no link where there is one only', () => {
    const { node } = drawn({ scaling: curve('NVLink 4', 1) });
    expect(node.querySelector<HTMLElement>('.jp-SurferScaling-link')?.hidden).toBe(true);
  });

  it('stacks exposed communication on compute, and never reaches more than the ideal', () => {
    const shown = curve('PCIe 5', 10);
    const [, second] = shown.rows;
    const data = second && scalingFigure(shown, second, context(view()));
    const { bars, chosen } = data?.sources ?? {};
    expect(bars?.['compute']).toEqual([100, 100, 100]);
    expect(bars?.['step']).toEqual([100, 110, 130]);
    expect(bars?.['ideal']).toEqual([1, 2, 4]);
    (bars?.['speedup'] as number[]).forEach((reached, index) => {
      expect(reached).toBeLessThanOrEqual([1, 2, 4][index] ?? 0);
    });
    expect(chosen?.['gpus']).toEqual(['2']);
    expect(data?.rows()).toEqual(shown.table);
  });

  it('takes names as text', () => {
    const hostile = '<img src=x onerror=alert(1)>';
    const { node } = drawn({ scaling: { ...curve(hostile, 1), title: hostile, gpu: hostile } });
    expect(node.querySelector('img')).toBeNull();
  });
});
