// Where does the time go? The module tree, bars, a table of all operations, the roofline, on the GPU looked at.

import { select, type ISelect } from '../../components/controls';
import { element } from '../../components/element';
import {
  VirtualTable,
  type IVirtualCell,
  type IVirtualColumn
} from '../../components/virtual_table';
import { Figure, type IFigureData } from '../../figures/figure';
import { timeUnit, UNKNOWN } from '../../format';
import { fasterText } from '../../outcome';
import type { Prediction } from '../../prediction';
import type { Change } from '../../selection';
import type { By, ISectionBody, ISectionContext } from '../section';
import { OperationLines, ownLines, type ILine } from './lines';
import { moduleFigure, moduleNodes } from './modules';
import { rooflineFigure } from './roofline';

const FIND_AFTER_MS = 150;
const MOST_BARS = 12;
const LINE_PX = 22;
const AXES_PX = 60;

/** Draws the operations of one prediction. */
export class OperationsBody implements ISectionBody {
  constructor(private readonly _context: ISectionContext) {
    const { trans, selection } = _context;
    this._gpu = select('Operations-gpu', trans.__('On'), value => {
      selection.selectGpu(Number(value));
    });
    this._by = select('Operations-by', trans.__('By'), () => {
      this._begin();
    });
    this._find = element('input', 'Operations-find');
    this._find.type = 'search';
    this._find.placeholder = trans.__('Find an operation');
    this._find.setAttribute('aria-label', trans.__('Find an operation'));
    this._find.addEventListener('input', () => {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => {
        this._begin();
      }, FIND_AFTER_MS);
    });
    this._count = element('span', 'Operations-count');
    this._count.setAttribute('role', 'status');
    this._modules = new Figure('modules', trans.__('GPU time by module'), trans, (_, index) => {
      this._tappedModule(index);
    });
    this._bars = new Figure('operations', trans.__('Costliest, here and there'), trans);
    this._roofline = new Figure('roofline', trans.__('Roofline'), trans, (source, index) => {
      this._tapped(source, index);
    });
    this._table = new VirtualTable(
      trans.__('Operations of a step'),
      trans.__('Table of operations')
    );
    this._note = element('p', 'Note');
    this.node = element(
      'div',
      'Operations',
      element('div', 'Operations-controls', this._gpu.node, this._by.node, this._find, this._count),
      this._modules.node,
      this._table.node,
      this._note,
      element('div', 'Figures', this._bars.node, this._roofline.node)
    );
  }

  readonly node: HTMLElement;

  get isDisposed(): boolean {
    return this._modules.isDisposed;
  }

  update(change: Change): void {
    const { trans, selection } = this._context;
    const { prediction } = selection;
    if (!prediction || change === 'setting' || change === 'preferences') {
      return; // operations are those of the step as run
    }
    if (change === 'prediction') {
      this._gpu.set(
        prediction.gpus.map(gpu => ({ value: String(gpu.index), text: gpu.name })),
        String(selection.gpu)
      );
      const options = [
        { value: 'operation', text: trans.__('Operation') },
        { value: 'kind', text: trans.__('Kind') },
        { value: 'phase', text: trans.__('Phase') },
        ...(prediction.stored.modules ? [{ value: 'module', text: trans.__('Module') }] : [])
      ];
      const now = this._by.control.value;
      this._by.set(options, options.some(one => one.value === now) ? now : 'operation');
    }
    this._gpu.control.value = String(selection.gpu);
    this._modules.node.hidden = !prediction.stored.modules;
    if (prediction.stored.modules) {
      this._modules.set(() => moduleFigure(prediction, this._context));
    }
    const roofline = rooflineFigure(prediction, this._context);
    this._roofline.node.hidden = roofline === null;
    if (roofline) {
      this._roofline.set(() => roofline);
    }
    this._bars.set(() => this._barData(prediction));
    this._begin();
  }

  dispose(): void {
    clearTimeout(this._timer);
    this._lines?.dispose();
    this._modules.dispose();
    this._bars.dispose();
    this._roofline.dispose();
    this.node.remove();
  }

  // the table lists a module's operations; the whole step is all of them
  private _tappedModule(index: number): void {
    const { prediction, gpu } = this._context.selection;
    const node = prediction && moduleNodes(prediction, gpu)[index];
    if (node) {
      this._find.value = node.depth > 0 ? node.path : '';
      this._by.control.value = 'operation';
      this._begin();
    }
  }

  private _begin(): void {
    const { selection } = this._context;
    const { prediction } = selection;
    if (!prediction) {
      return;
    }
    this._lines?.dispose();
    const lines = new OperationLines(
      this._context,
      prediction,
      selection.gpu,
      this._by.control.value as By,
      this._find.value,
      () => {
        this._show(lines, prediction);
      }
    );
    this._lines = lines;
    this._table.scrollToTop();
    this._show(lines, prediction);
  }

  private _show(lines: OperationLines, prediction: Prediction): void {
    const { trans, format, selection } = this._context;
    this._table.set(this._columns(prediction), lines.count, index => {
      const line = lines.at(index);
      return line && this._cells(line);
    });
    this._count.textContent = trans.__('%1 rows', format.fixed(lines.count, 0));
    this._note.textContent = lines.isWhole
      ? ''
      : trans.__(
          'The costliest operations, as they were saved. With the kernel that made the prediction, all of them are listed.'
        );
    this._note.hidden = lines.isWhole;
    this._table.node.setAttribute(
      'aria-label',
      trans.__('Table of operations on %1', prediction.gpus[selection.gpu]?.name ?? '')
    );
  }

  private _columns(prediction: Prediction): IVirtualColumn[] {
    const { trans, selection } = this._context;
    return [
      { label: trans.__('Operation') },
      { label: trans.__('Here'), isNumber: true },
      { label: prediction.gpus[selection.gpu]?.name ?? '', isNumber: true },
      { label: trans.__('Against here'), isNumber: true },
      { label: trans.__('Limited by') },
      { label: trans.__('Predicted by') }
    ];
  }

  private _cells(line: ILine): IVirtualCell[] {
    const { trans, format, actions } = this._context;
    const { reveal } = actions;
    const launches = Number.isNaN(line.launches)
      ? ''
      : trans._n('%2 launch', '%2 launches', line.launches, format.count(line.launches));
    const range =
      Number.isNaN(line.lowMs) || Number.isNaN(line.highMs)
        ? ''
        : trans.__('%1 to %2', format.duration(line.lowMs), format.duration(line.highMs));
    return [
      {
        text: line.name,
        detail: [line.phase, launches, line.module, line.source].filter(Boolean).join(' · '),
        ...(reveal && line.source
          ? {
              press: () => {
                reveal(line.source);
              },
              pressLabel: trans.__('%1: go to %2', line.name, line.source)
            }
          : {})
      },
      { text: format.duration(line.hereMs) },
      {
        text: Number.isNaN(line.onMs)
          ? line.share === null
            ? UNKNOWN
            : format.percent(line.share)
          : format.duration(line.onMs),
        detail: range || (line.share === null ? '' : format.percent(line.share))
      },
      { text: fasterText(line.faster, format, trans) },
      { text: line.limit },
      { text: line.method, detail: line.note }
    ];
  }

  private _barData(prediction: Prediction): IFigureData {
    const { trans, format, selection } = this._context;
    const lines = ownLines(prediction, selection.gpu, 'operation').slice(0, MOST_BARS);
    const gpu = prediction.gpus[selection.gpu]?.name ?? '';
    const unit = timeUnit(Math.max(...lines.flatMap(line => [line.onMs, line.hereMs ?? 0])));
    // a factor must be one of a kind
    const names = lines.map((line, index) => `${index + 1}. ${line.name}`);
    return {
      description: trans.__(
        'Time of the %1 costliest operation groups here and on %2.',
        format.fixed(lines.length, 0),
        gpu
      ),
      sources: {
        bars: {
          name: names,
          here: lines.map(line => (line.hereMs ?? NaN) / unit.ms),
          there: lines.map(line => line.onMs / unit.ms),
          text: lines.map(line =>
            [
              line.name,
              line.hereMs === null ? '' : trans.__('here %1', format.duration(line.hereMs)),
              `${gpu} ${format.duration(line.onMs)}`
            ]
              .filter(Boolean)
              .join(', ')
          )
        }
      },
      factors: [...names].reverse(),
      height: AXES_PX + LINE_PX * names.length,
      xLabel: unit.name,
      columns: [trans.__('Operation'), trans.__('Here'), gpu],
      rows: () =>
        lines.map(line => [line.name, format.duration(line.hereMs), format.duration(line.onMs)])
    };
  }

  private _tapped(source: string, index: number): void {
    const { selection, actions } = this._context;
    const { prediction } = selection;
    if (source !== 'points' || !prediction) {
      return;
    }
    const shown = rooflineFigure(prediction, this._context)?.sources['points']?.['name'];
    const name = shown?.[index];
    const found = prediction
      .operationsOn(selection.gpu)
      .find(one => one.name === name && one.source);
    if (found) {
      actions.reveal?.(found.source);
    }
  }

  private readonly _gpu: ISelect;
  private readonly _by: ISelect;
  private readonly _find: HTMLInputElement;
  private readonly _count: HTMLElement;
  private readonly _modules: Figure;
  private readonly _bars: Figure;
  private readonly _roofline: Figure;
  private readonly _table: VirtualTable;
  private readonly _note: HTMLElement;
  private _lines: OperationLines | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
