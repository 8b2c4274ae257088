// Which GPU, what will it cost? The table, filtered and sorted; the price of the GPU looked at; the figures.

import {
  button,
  keepsKeys,
  checkBox,
  select,
  slider,
  type ISelect,
  type ISlider
} from '../../components/controls';
import { element } from '../../components/element';
import { ratioScale, type Scale } from '../../components/range_bar';
import { Figure } from '../../figures/figure';
import { gpuFilter, wordsOf } from '../../gpu_filter';
import { nextSort, sorted, type ISort } from '../../gpu_sort';
import type { IOutcome } from '../../outcome';
import type { Change } from '../../selection';
import { forget, whenSettled } from '../../slices';
import type { PriceBasis } from '../../tokens';
import type { ISectionBody, ISectionContext } from '../section';
import { settingText } from '../setting_words';
import { gpuColumns, type IGpuColumn } from './columns';
import { costTime, stepRange } from './figures';
import { GpuTable } from './table';

const DEAREST_USD = 10; // where no price is listed, the slider reaches this far
const FINEST_USD = 0.01;

/** Draws the GPUs of one prediction. */
export class GpusBody implements ISectionBody {
  constructor(private readonly _context: ISectionContext) {
    const { trans, selection } = _context;
    const { preferences } = selection;
    this._filter = element('input', 'Gpus-filter');
    this._filter.type = 'search';
    this._filter.placeholder = trans.__('Filter: ada  >=24 GB  <$2');
    this._filter.setAttribute('aria-label', trans.__('Filter GPUs by name, memory, price or time'));
    this._filter.addEventListener('input', () => {
      this._drawTable();
    });
    this._shortList = checkBox('Gpus-short', trans.__('Short list only'), () => {
      this._drawTable();
    });
    this._count = element('span', 'Gpus-count');
    this._count.setAttribute('role', 'status');
    this._basis = select('Gpus-basis', trans.__('Prices'), value => {
      preferences.setBasis(value as PriceBasis);
    });
    this._setting = element('p', 'Gpus-setting');
    this._scroll = element('div', 'Gpus-scroll');
    this._scroll.setAttribute('role', 'region');
    this._scroll.setAttribute('aria-label', trans.__('Table of GPUs'));
    keepsKeys(this._scroll).tabIndex = 0;
    this._observer.observe(this._scroll);
    this._price = slider('Gpus-price', trans.__('Price of an hour'), value => {
      const gpu = selection.outcome?.gpu;
      if (gpu) {
        selection.tryPrice(gpu.name, value);
      }
    });
    this._keep = button('Link', trans.__('Keep as my price'), () => {
      const { gpu, price } = selection.outcome ?? {};
      if (gpu) {
        selection.keepPrice(gpu.name, price?.usdPerHour ?? null);
        this._price.control.focus(); // the button is gone
      }
    });
    this._listed = button('Link', trans.__('Use the listed price'), () => {
      const gpu = selection.outcome?.gpu;
      if (gpu) {
        selection.keepPrice(gpu.name, null);
        this._price.control.focus();
      }
    });
    this._ground = element('p', 'Note');
    this._cost = new Figure('cost_time', trans.__('Cost against time'), trans, (_, index) => {
      const tapped = this._priced[index];
      if (tapped) {
        selection.selectGpu(tapped.gpu.index);
      }
    });
    this._range = new Figure('step_range', trans.__('Step time by GPU'), trans);
    this.node = element(
      'div',
      'Gpus',
      element(
        'div',
        'Gpus-controls',
        this._filter,
        this._basis.node,
        this._shortList.node,
        this._count
      ),
      this._setting,
      this._scroll,
      element(
        'div',
        'Gpus-pricing',
        this._price.node,
        element('div', 'Gpus-prices', this._keep, this._listed),
        this._ground
      ),
      element('div', 'Figures', this._cost.node, this._range.node)
    );
  }

  readonly node: HTMLElement;

  get isDisposed(): boolean {
    return this._cost.isDisposed;
  }

  update(change: Change): void {
    const { prediction } = this._context.selection;
    if (!prediction) {
      return;
    }
    if (change === 'prediction') {
      const { trans, format } = this._context;
      this._columns = gpuColumns(prediction, format, trans);
      this._table = new GpuTable(this._context, this._columns, {
        sorted: key => {
          this._sort = nextSort(this._sort, key);
          this._drawTable();
        },
        selected: place => {
          this._context.selection.selectGpu(place);
        }
      });
      this._scroll.replaceChildren(this._table.node);
      this._shortList.node.hidden = prediction.stored.shortlist.length >= prediction.gpus.length;
      this._basis.set(
        [
          { value: 'on-demand', text: trans.__('On demand') },
          { value: 'spot', text: trans.__('Spot') }
        ],
        this._context.selection.preferences.basis
      );
      this._basis.node.hidden = prediction.gpus.every(gpu => gpu.spot === null);
    }
    this._basis.control.value = this._context.selection.preferences.basis;
    if (change === 'setting' && !this._isSeen) {
      this._isStale = true;
      whenSettled(this, this._drawStale);
    } else {
      this._drawTable();
    }
  }

  dispose(): void {
    forget(this);
    this._observer.disconnect();
    this._cost.dispose();
    this._range.dispose();
    this.node.remove();
  }

  private readonly _drawStale = (): void => {
    if (this._isStale) {
      this._drawTable();
    }
  };

  private _drawTable(): void {
    this._isStale = false;
    const { trans, format, selection } = this._context;
    const { prediction, preferences } = selection;
    if (!prediction || !this._table) {
      return;
    }
    const passes = gpuFilter(this._filter.value);
    const short = this._shortList.control.checked ? new Set(prediction.stored.shortlist) : null;
    const shown = selection.outcomes.filter(
      one =>
        preferences.pinned.has(one.gpu.name) ||
        ((!short || short.has(one.gpu.index)) &&
          passes({
            words: wordsOf(one.gpu, one.verdict),
            memoryGb: one.gpu.memoryGb,
            stepMs: one.step?.value ?? null,
            usdPerHour: one.price.usdPerHour
          }))
    );
    const column = this._columns.find(one => one.key === this._sort.key);
    const rows = sorted(
      shown,
      one => column?.sort(one) ?? null,
      this._sort.isDescending,
      one => preferences.pinned.has(one.gpu.name)
    );
    this._table.update(rows, this._sort, scaleOf(rows));
    this._count.textContent = trans.__(
      '%1 of %2 GPUs',
      format.fixed(rows.length, 0),
      format.fixed(prediction.gpus.length, 0)
    );
    this._setting.hidden = selection.setting === null;
    if (selection.setting) {
      this._setting.replaceChildren(
        trans.__('Shown for %1. ', settingText(prediction, selection.setting, format, trans)),
        button('Link', trans.__('Back to as run'), () => {
          selection.choose(null);
        })
      );
    }
    this._drawPrice();
    const bySpeed = [...rows].sort(
      (a, b) => (a.step?.value ?? Infinity) - (b.step?.value ?? Infinity)
    );
    this._priced = rows.filter(one => one.step !== null && one.usdPer1000Steps !== null);
    this._cost.node.hidden = this._priced.length < 2;
    this._cost.set(() => costTime(prediction, rows, this._context));
    this._range.set(() => stepRange(prediction, bySpeed, this._context));
  }

  private _drawPrice(): void {
    const { trans, format, selection } = this._context;
    const { outcome } = selection;
    if (!outcome) {
      return;
    }
    const { gpu, price } = outcome;
    const listed = gpu.listed.usdPerHour;
    const max = Math.ceil(Math.max(2 * (listed ?? DEAREST_USD / 2), price.usdPerHour ?? 0));
    this._price.set(
      { max, step: FINEST_USD },
      price.usdPerHour ?? 0,
      price.usdPerHour === null
        ? trans.__('%1: no price known', gpu.name)
        : trans.__('%1: %2', gpu.name, format.money(price.usdPerHour))
    );
    this._keep.hidden = price.isTried !== true;
    this._listed.hidden = !price.isOwn;
    const parts = [price.note, price.source].filter(Boolean);
    this._ground.textContent =
      price.usdPerHour === null
        ? trans.__('No offer of %1 is listed. Give a price of your own with the slider.', gpu.name)
        : trans.__('Price: %1', parts.join('; '));
  }

  private readonly _filter: HTMLInputElement;
  private readonly _shortList: ReturnType<typeof checkBox>;
  private readonly _count: HTMLElement;
  private readonly _basis: ISelect;
  private readonly _setting: HTMLElement;
  private readonly _scroll: HTMLElement;
  private readonly _price: ISlider;
  private readonly _keep: HTMLButtonElement;
  private readonly _listed: HTMLButtonElement;
  private readonly _ground: HTMLElement;
  private readonly _cost: Figure;
  private readonly _range: Figure;
  // a slider moves all rows: those of a table out of sight wait until it rests
  private readonly _observer = new IntersectionObserver(seen => {
    this._isSeen = seen.some(one => one.isIntersecting);
    if (this._isSeen) {
      this._drawStale();
    }
  });
  private _isSeen = true;
  private _isStale = false;
  private _columns: readonly IGpuColumn[] = [];
  private _table: GpuTable | null = null;
  private _sort: ISort = { key: 'step', isDescending: false };
  private _priced: readonly IOutcome[] = [];
}

// The bars' scale spans what is shown, so that a filter spreads what it lets through.
function scaleOf(rows: readonly IOutcome[]): Scale {
  const steps = rows.flatMap(one => (one.step ? [one.step] : []));
  return ratioScale(
    Math.min(...steps.map(step => step.low)),
    Math.max(...steps.map(step => step.high))
  );
}
