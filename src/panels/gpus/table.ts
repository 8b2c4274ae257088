// How is the table of GPUs drawn? Rows are made once and changed in place: a slider moves all of them at every step.

import { button } from '../../components/controls';
import { element } from '../../components/element';
import { rangeBar, setRangeBar, type Scale } from '../../components/range_bar';
import type { ISort } from '../../gpu_sort';
import type { IOutcome } from '../../outcome';
import { isPrice } from '../../preferences';
import type { ISectionContext } from '../section';
import type { IGpuColumn } from './columns';

/** What a reader does in the table. */
export interface ITableEvents {
  readonly sorted: (key: string) => void;
  readonly selected: (place: number) => void;
}

interface IRow {
  readonly node: HTMLTableRowElement;
  readonly pin: HTMLButtonElement;
  readonly name: HTMLButtonElement;
  readonly bar: HTMLElement;
  readonly cells: readonly { readonly text: HTMLElement; readonly detail: HTMLElement }[];
}

const PINNED = '★';
const UNPINNED = '☆';

/** The table; `update` gives it rows in their order. */
export class GpuTable {
  constructor(
    private readonly _context: ISectionContext,
    private readonly _columns: readonly IGpuColumn[],
    private readonly _events: ITableEvents
  ) {
    const { trans } = _context;
    this.node = element('table', 'Gpus-table');
    this.node.append(element('caption', 'Gpus-caption', trans.__('One step on each GPU')));
    const head = this.node.createTHead().insertRow();
    const pins = element('th', 'Gpus-pin');
    pins.scope = 'col';
    pins.append(element('span', 'Hidden', trans.__('Pinned')));
    head.append(pins);
    this._heads = _columns.map(column => {
      const heading = element('th', `Gpus-${column.key}`);
      heading.scope = 'col';
      heading.classList.toggle('jp-SurferTable-number', column.isNumber);
      heading.append(
        button('Gpus-sort', column.label, () => {
          _events.sorted(column.key);
        })
      );
      head.append(heading);
      return heading;
    });
    this._body = this.node.createTBody();
  }

  readonly node: HTMLTableElement;

  /** Draw these outcomes in this order. */
  update(outcomes: readonly IOutcome[], sort: ISort, scale: Scale): void {
    const { selection } = this._context;
    this._columns.forEach((column, index) => {
      const heading = this._heads[index];
      if (column.key === sort.key) {
        heading?.setAttribute('aria-sort', sort.isDescending ? 'descending' : 'ascending');
      } else {
        heading?.removeAttribute('aria-sort');
      }
    });
    const rows = outcomes.map(outcome => {
      const row = this._row(outcome);
      this._fill(row, outcome, scale, outcome.gpu.index === selection.gpu);
      return row.node;
    });
    const now = this._body.rows;
    if (rows.length !== now.length || rows.some((row, index) => row !== now[index])) {
      const focused = document.activeElement;
      // rows that stand where they should are not touched: the page would lay all of them out anew
      rows.forEach((row, index) => {
        if (now[index] !== row) {
          this._body.insertBefore(row, now[index] ?? null);
        }
      });
      while (now.length > rows.length) {
        this._body.deleteRow(-1);
      }
      if (focused instanceof HTMLElement && this._body.contains(focused)) {
        focused.focus({ preventScroll: true }); // a moved row takes the focus with it
      }
    }
  }

  private _row(outcome: IOutcome): IRow {
    const { gpu } = outcome;
    const known = this._rows.get(gpu.index);
    if (known) {
      return known;
    }
    const { selection } = this._context;
    const node = element('tr', 'Gpus-row');
    const pin = button('Gpus-pinButton', UNPINNED, () => {
      selection.preferences.togglePin(gpu.name);
    });
    const name = button('Gpus-name', gpu.name, () => {
      this._events.selected(gpu.index);
    });
    const bar = rangeBar();
    node.append(element('td', 'Gpus-pin', pin));
    const cells = this._columns.map(column => {
      const cell = element(column.key === 'gpu' ? 'th' : 'td', `Gpus-${column.key}`);
      if (cell instanceof HTMLTableCellElement && column.key === 'gpu') {
        cell.scope = 'row';
      }
      cell.classList.toggle('jp-SurferTable-number', column.isNumber);
      const detail = element('span', 'Table-detail');
      if (column.key === 'gpu') {
        cell.append(name, detail);
        return { text: name, detail };
      }
      if (column.key === 'price') {
        const price = button('Gpus-priceButton', '', () => {
          this._editPrice(outcome.gpu.index);
        });
        cell.append(price, detail);
        return { text: price, detail };
      }
      const text = element('span', 'Table-value');
      cell.append(text, ...(column.key === 'step' ? [bar] : []), detail);
      return { text, detail };
    });
    node.append(...cells.map(one => one.text.parentElement ?? one.text));
    const row = { node, pin, name, bar, cells };
    this._rows.set(gpu.index, row);
    return row;
  }

  private _fill(row: IRow, outcome: IOutcome, scale: Scale, isSelected: boolean): void {
    const { trans, selection } = this._context;
    const { gpu, step } = outcome;
    const isPinned = selection.preferences.pinned.has(gpu.name);
    put(row.pin, isPinned ? PINNED : UNPINNED);
    row.pin.setAttribute('aria-pressed', String(isPinned));
    row.pin.setAttribute('aria-label', trans.__('Pin %1', gpu.name));
    row.name.setAttribute('aria-pressed', String(isSelected));
    row.node.classList.toggle('jp-mod-selected', isSelected);
    row.node.classList.toggle('jp-mod-origin', gpu.isOrigin);
    row.node.classList.toggle('jp-mod-unfit', outcome.verdict === 'does not fit');
    row.bar.hidden = step === null;
    if (step) {
      setRangeBar(row.bar, step, scale);
    }
    this._columns.forEach((column, index) => {
      const cell = row.cells[index];
      if (!cell) {
        return;
      }
      const { text, detail = '' } = column.cell(outcome);
      put(cell.text, text);
      put(cell.detail, detail);
      if (column.key === 'price') {
        cell.text.setAttribute(
          'aria-label',
          trans.__('Price of an hour of %1: %2. Change it', gpu.name, text)
        );
        cell.text.title = outcome.price.note;
      }
    });
  }

  /** A field in the place of the price; Enter keeps it, Escape does not, nothing typed means the listed price. */
  private _editPrice(place: number): void {
    const { trans, selection } = this._context;
    const outcome = selection.outcomes[place];
    const at = this._columns.findIndex(column => column.key === 'price');
    const price = this._rows.get(place)?.cells[at]?.text;
    if (!outcome || !price) {
      return;
    }
    const field = element('input', 'Gpus-priceField');
    field.type = 'number';
    field.min = '0';
    field.step = '0.01';
    field.value = outcome.price.usdPerHour === null ? '' : String(outcome.price.usdPerHour);
    field.setAttribute('aria-label', trans.__('USD per hour of %1', outcome.gpu.name));
    const before = field.value;
    let isOver = false;
    const end = (keeps: boolean): void => {
      if (isOver) {
        return;
      }
      isOver = true;
      const hadFocus = document.activeElement === field;
      field.replaceWith(price);
      if (hadFocus) {
        price.focus();
      }
      if (keeps && field.value !== before) {
        const usd = field.value === '' ? null : field.valueAsNumber;
        if (usd === null || isPrice(usd)) {
          selection.keepPrice(outcome.gpu.name, usd);
        }
      }
    };
    field.addEventListener('keydown', event => {
      if (event.key === 'Enter' || event.key === 'Escape') {
        event.preventDefault();
        event.stopPropagation();
        end(event.key === 'Enter');
      }
    });
    field.addEventListener('blur', () => {
      end(true);
    });
    price.replaceWith(field);
    field.focus();
    field.select();
  }

  private readonly _rows = new Map<number, IRow>();
  private readonly _heads: readonly HTMLElement[];
  private readonly _body: HTMLTableSectionElement;
}

function put(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
