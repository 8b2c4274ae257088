// What if it ran with another batch size, in another precision, compiled, on that GPU? Controls, and the answer.

import {
  button,
  checkBox,
  select,
  slider,
  type ICheck,
  type ISelect,
  type ISlider
} from '../../components/controls';
import { element } from '../../components/element';
import { evenScale, rangeBar, setRangeBar } from '../../components/range_bar';
import { Figure } from '../../figures/figure';
import { UNKNOWN } from '../../format';
import { fasterText, type IOutcome } from '../../outcome';
import type { Prediction } from '../../prediction';
import type { Change } from '../../selection';
import { RequestFailed } from '../../session';
import type { ISectionBody, ISectionContext } from '../section';
import { settingText } from '../setting_words';
import { batchCurve, hasCurve } from './curve';

/** Draws the controls and the outcome; without its figure for places where there is a figure already. */
export class WhatIfBody implements ISectionBody {
  constructor(
    private readonly _context: ISectionContext,
    { hasFigure }: { readonly hasFigure: boolean }
  ) {
    const { trans, selection } = _context;
    this._gpu = select('WhatIf-gpu', trans.__('On'), value => {
      selection.selectGpu(Number(value));
    });
    this._batch = slider('WhatIf-batch', trans.__('Batch size'), batch => {
      selection.choose({ batch });
    });
    this._other = element('input', 'WhatIf-other');
    this._other.type = 'number';
    this._other.min = '1';
    this._other.placeholder = trans.__('other');
    this._other.setAttribute('aria-label', trans.__('Another batch size'));
    this._other.title = trans.__('Another batch size: Enter has the kernel work it out');
    this._other.addEventListener('change', () => {
      this._addBatch(this._other.valueAsNumber);
    });
    this._batch.node.append(this._other);
    this._precision = select('WhatIf-precision', trans.__('Precision'), value => {
      selection.choose({ precision: Number(value) });
    });
    this._compile = checkBox('WhatIf-compile', trans.__('torch.compile'), isOn => {
      selection.choose({ compile: isOn ? 1 : 0 });
    });
    this._mode = select('WhatIf-mode', trans.__('Compile'), value => {
      selection.choose({ compile: Number(value) });
    });
    this._count = select('WhatIf-count', trans.__('GPUs'), value => {
      selection.choose({ count: Number(value) });
    });
    this._wait = element('p', 'Note');
    this._back = button('Link', trans.__('Back to as run'), () => {
      selection.choose(null);
    });
    this._setting = element('span', 'WhatIf-setting');
    this._step = element('span', 'WhatIf-step');
    this._bar = rangeBar();
    this._baseBar = rangeBar();
    this._range = element('span', 'WhatIf-range');
    this._facts = element('dl', 'Facts WhatIf-facts');
    this._curve = hasFigure ? new Figure('batch_curve', trans.__('By batch size'), trans) : null;
    const outcome = element(
      'div',
      'WhatIf-outcome',
      element('p', 'WhatIf-head', this._setting, this._back),
      element('p', 'WhatIf-number', this._step, this._range),
      element('div', 'WhatIf-bars', this._bar, this._baseBar),
      this._facts
    );
    outcome.setAttribute('role', 'group');
    outcome.setAttribute('aria-label', trans.__('Outcome'));
    this.node = element(
      'div',
      'WhatIf',
      element(
        'div',
        'WhatIf-controls',
        this._gpu.node,
        this._batch.node,
        this._precision.node,
        this._compile.node,
        this._mode.node,
        this._count.node
      ),
      this._wait,
      outcome,
      ...(this._curve ? [this._curve.node] : [])
    );
  }

  readonly node: HTMLElement;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  update(change: Change): void {
    const { prediction } = this._context.selection;
    if (!prediction) {
      return;
    }
    if (change === 'prediction') {
      this._gpu.set(
        prediction.gpus.map(gpu => ({ value: String(gpu.index), text: gpu.name })),
        String(this._context.selection.gpu)
      );
    }
    this._drawControls(prediction);
    this._drawOutcome(prediction);
    if (this._curve) {
      this._curve.node.hidden = !hasCurve(prediction);
      this._curve.set(() => batchCurve(this._context));
    }
  }

  dispose(): void {
    this._isDisposed = true;
    this._curve?.dispose();
    this.node.remove();
  }

  private _drawControls(prediction: Prediction): void {
    const { trans, format, selection } = this._context;
    const grid = prediction.grid;
    this._gpu.control.value = String(selection.gpu);
    const { batch_sizes = [], precisions = [], compiles = [], counts = [] } = grid?.view ?? {};
    const at = selection.setting ?? grid?.start;
    this._batch.node.hidden = batch_sizes.length < 2;
    this._other.hidden = this._context.actions.addBatch === undefined;
    this._precision.node.hidden = precisions.length < 2;
    this._compile.node.hidden = compiles.length !== 2;
    this._mode.node.hidden = compiles.length < 3;
    this._count.node.hidden = counts.length < 2; // until there is more than one GPU to choose
    this._drawWait();
    if (!grid || !at) {
      return;
    }
    const largest = grid.largestBatch(selection.gpu, at.precision);
    const batch = batch_sizes[at.batch] ?? 0;
    this._batch.set(
      { max: batch_sizes.length - 1 },
      at.batch,
      [
        format.fixed(batch, 0),
        largest === null
          ? ''
          : largest === 0
            ? trans.__('(none fits)')
            : trans.__('(up to %1 fit)', format.fixed(largest, 0))
      ]
        .filter(Boolean)
        .join(' ')
    );
    const options = (
      labels: readonly string[],
      isBlocked: (index: number) => boolean = () => false
    ): { value: string; text: string; disabled: boolean }[] =>
      labels.map((text, index) => ({ value: String(index), text, disabled: isBlocked(index) }));
    this._precision.set(
      options(grid.view.precision_labels, index => grid.blocker(selection.gpu, index) !== ''),
      String(at.precision)
    );
    this._mode.set(options(grid.view.compile_labels), String(at.compile));
    this._compile.control.checked = at.compile === 1;
    this._count.set(options(counts.map(count => format.fixed(count, 0))), String(at.count));
  }

  private _addBatch(size: number): void {
    const { trans, selection, actions } = this._context;
    if (!Number.isInteger(size) || size < 1 || !actions.addBatch) {
      return;
    }
    const choose = (): void => {
      const place = selection.prediction?.grid?.view.batch_sizes.indexOf(size) ?? -1;
      if (place >= 0) {
        selection.choose({ batch: place });
      }
    };
    if (selection.prediction?.grid?.view.batch_sizes.includes(size)) {
      choose();
      return;
    }
    this._told = trans.__('Batch size %1 is being worked out …', size);
    this._drawWait();
    actions
      .addBatch(size)
      .then(() => {
        this._told = '';
        choose();
      })
      .catch((error: unknown) => {
        this._told =
          error instanceof RequestFailed
            ? [error.failure.what, error.failure.remedy].filter(Boolean).join(' ')
            : String(error);
      })
      .finally(() => {
        this._drawWait();
      });
  }

  private _drawWait(): void {
    const { trans, selection } = this._context;
    const waits = selection.prediction?.grid === null;
    this._wait.textContent = waits
      ? trans.__(
          'Other batch sizes, precisions and compiling are being worked out; they stand here in a moment.'
        )
      : this._told;
    this._wait.hidden = this._wait.textContent === '';
  }

  private _drawOutcome(prediction: Prediction): void {
    const { trans, format, selection } = this._context;
    const { unit } = prediction;
    const { outcome, baseline } = selection;
    if (!outcome) {
      return;
    }
    const { step } = outcome;
    this._setting.textContent = trans.__(
      '%1, %2',
      outcome.gpu.name,
      settingText(prediction, selection.setting, format, trans)
    );
    this._back.hidden = selection.setting === null;
    this._step.textContent = step ? format.time(step.value, unit) : UNKNOWN;
    this._range.textContent = step ? format.timeRange(step.low, step.high, unit) : outcome.blocker;
    const scale = evenScale(1.05 * Math.max(step?.high ?? 0, baseline?.step?.high ?? 0));
    this._bar.hidden = step === null;
    if (step) {
      setRangeBar(this._bar, step, scale);
    }
    const hasBase = selection.setting !== null && baseline?.step;
    this._baseBar.hidden = !hasBase;
    this._baseBar.classList.add('jp-mod-baseline');
    if (hasBase) {
      setRangeBar(this._baseBar, baseline.step, scale);
    }
    this._putFacts(this._lines(prediction, outcome, baseline).filter(([, text]) => text));
  }

  // in place while the labels stay: a slider changes what they say
  private _putFacts(lines: readonly (readonly [string, string])[]): void {
    const now = [...this._facts.children];
    if (
      now.length === 2 * lines.length &&
      lines.every(([label], index) => now[2 * index]?.textContent === label)
    ) {
      lines.forEach(([, text], index) => {
        const told = now[2 * index + 1];
        if (told && told.textContent !== text) {
          told.textContent = text;
        }
      });
      return;
    }
    this._facts.replaceChildren(
      ...lines.flatMap(([label, text]) => [element('dt', '', label), element('dd', '', text)])
    );
  }

  private _lines(
    prediction: Prediction,
    outcome: IOutcome,
    baseline: IOutcome | null
  ): readonly (readonly [string, string])[] {
    const { trans, format, selection } = this._context;
    const { unit, hereMs } = prediction;
    const { step, price, usdPer1000Steps: cost } = outcome;
    const ratio = (ms: number | null | undefined): string => {
      if (!step || ms === null || ms === undefined) {
        return '';
      }
      // at another batch size a step does other work: what counts is samples a second
      const samples =
        outcome.batchSize && baseline?.batchSize ? outcome.batchSize / baseline.batchSize : 1;
      const text = fasterText((ms / step.value) * samples, format, trans);
      return samples === 1 ? text : trans.__('%1 a sample', text);
    };
    const costText = cost
      ? [format.money(cost.value), rangeIn(format.moneyRange(cost.low, cost.high))]
          .filter(Boolean)
          .join(' ')
      : '';
    return [
      [
        trans.__('As run'),
        selection.setting && baseline?.step
          ? trans.__(
              '%1 %2; this is %3',
              format.time(baseline.step.value, unit),
              rangeIn(format.timeRange(baseline.step.low, baseline.step.high, unit)),
              ratio(baseline.step.value)
            )
          : ''
      ],
      [
        trans.__('Against here'),
        hereMs === null || outcome.gpu.faster === null
          ? ''
          : trans.__('%1 (%2 recorded)', ratio(hereMs), format.time(hereMs, unit))
      ],
      [
        trans.__('Throughput'),
        outcome.samplesPerS === null
          ? ''
          : trans.__('%1 samples/s', format.significant(outcome.samplesPerS))
      ],
      [
        trans.__('1,000 steps'),
        costText &&
          trans.__('%1, at %2 an hour (%3)', costText, format.money(price.usdPerHour), price.note)
      ],
      [
        trans.__('Epoch'),
        outcome.epochMs === null
          ? ''
          : [
              format.duration(outcome.epochMs),
              outcome.usdPerEpoch === null ? '' : format.money(outcome.usdPerEpoch)
            ]
              .filter(Boolean)
              .join(', ')
      ],
      [
        trans.__('Memory'),
        outcome.memoryGb === null
          ? outcome.verdict
          : trans.__(
              '%1 (%2 at most) of %3: %4',
              format.memory(outcome.memoryGb),
              format.memory(outcome.memoryHighGb),
              format.memory(outcome.gpu.memoryGb),
              outcome.verdict
            )
      ],
      [
        trans.__('Predicted by'),
        outcome.gpu.methods
          .map(method => `${format.percent(method.share)} ${method.label}`)
          .join(', ')
      ]
    ];
  }

  private readonly _gpu: ISelect;
  private readonly _batch: ISlider;
  private readonly _other: HTMLInputElement;
  private readonly _precision: ISelect;
  private readonly _compile: ICheck;
  private readonly _mode: ISelect;
  private readonly _count: ISelect;
  private readonly _wait: HTMLElement;
  private readonly _back: HTMLButtonElement;
  private readonly _setting: HTMLElement;
  private readonly _step: HTMLElement;
  private readonly _range: HTMLElement;
  private readonly _bar: HTMLElement;
  private readonly _baseBar: HTMLElement;
  private readonly _facts: HTMLElement;
  private readonly _curve: Figure | null;
  private _told = '';
  private _isDisposed = false;
}

function rangeIn(text: string): string {
  return text ? `(${text})` : '';
}
