// How are thousands of rows shown? Those that can be seen, at a fixed height, between two spacers.

import { keepsKeys } from './controls';
import { element } from './element';

/** What a cell holds: text, what qualifies it, and what a press on it does. */
export interface IVirtualCell {
  readonly text: string;
  readonly detail?: string;
  readonly press?: () => void;
  readonly pressLabel?: string;
}

/** A column of the table. */
export interface IVirtualColumn {
  readonly label: string;
  readonly isNumber?: boolean;
}

const ROW_PX = 40;
const SPARE_ROWS = 6;
const SEEN_PX = 360; // until the page has laid it out

/** A table of `count` rows whose cells are asked for when they come into sight; null: not here yet. */
export class VirtualTable {
  constructor(caption: string, label: string) {
    this._caption = element('caption', 'Hidden', caption);
    this._head = element('thead', '');
    this._body = element('tbody', '');
    this._table = element('table', 'Virtual-table', this._caption, this._head, this._body);
    this.node = element('div', 'Virtual', this._table);
    keepsKeys(this.node).tabIndex = 0;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', label);
    this.node.addEventListener('scroll', () => {
      this._draw();
    });
  }

  readonly node: HTMLElement;

  /** Begin anew with these columns and rows. */
  set(
    columns: readonly IVirtualColumn[],
    count: number,
    rowAt: (index: number) => readonly IVirtualCell[] | null
  ): void {
    this._columns = columns;
    this._count = count;
    this._rowAt = rowAt;
    this._table.setAttribute('aria-rowcount', String(count + 1));
    this._head.replaceChildren(
      element(
        'tr',
        '',
        ...columns.map(column => {
          const heading = element('th', '', column.label);
          heading.scope = 'col';
          heading.classList.toggle('jp-SurferTable-number', column.isNumber === true);
          return heading;
        })
      )
    );
    this._drawn = '';
    this._draw();
  }

  /** Rows that were not here have come. */
  refresh(): void {
    this._drawn = '';
    this._draw();
  }

  scrollToTop(): void {
    this.node.scrollTop = 0;
  }

  private _draw(): void {
    const seen = this.node.clientHeight || SEEN_PX;
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW_PX) - SPARE_ROWS);
    const end = Math.min(
      this._count,
      Math.ceil((this.node.scrollTop + seen) / ROW_PX) + SPARE_ROWS
    );
    const drawn = `${first}-${end}`;
    if (drawn === this._drawn) {
      return;
    }
    this._drawn = drawn;
    const focusedRow = this._body.contains(document.activeElement)
      ? document.activeElement?.closest('tr')?.getAttribute('aria-rowindex')
      : null;
    this._body.replaceChildren(
      spacer(first, this._columns.length),
      ...Array.from({ length: Math.max(0, end - first) }, (_, offset) => this._row(first + offset)),
      spacer(this._count - end, this._columns.length)
    );
    if (focusedRow) {
      this._body.querySelector<HTMLElement>(`tr[aria-rowindex="${focusedRow}"] button`)?.focus();
    }
  }

  private _row(index: number): HTMLElement {
    const cells = this._rowAt(index);
    const row = element('tr', 'Virtual-row');
    row.setAttribute('aria-rowindex', String(index + 2));
    this._columns.forEach((column, place) => {
      const cell = cells?.[place];
      const made = element(place === 0 ? 'th' : 'td', '');
      if (place === 0) {
        made.scope = 'row';
      }
      made.classList.toggle('jp-SurferTable-number', column.isNumber === true);
      made.append(cellContent(cell));
      if (cell?.detail) {
        made.append(element('span', 'Table-detail', cell.detail));
      }
      made.title = cell?.text ?? '';
      row.append(made);
    });
    return row;
  }

  private readonly _caption: HTMLElement;
  private readonly _head: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _table: HTMLElement;
  private _columns: readonly IVirtualColumn[] = [];
  private _count = 0;
  private _rowAt: (index: number) => readonly IVirtualCell[] | null = () => null;
  private _drawn = '';
}

function cellContent(cell: IVirtualCell | undefined): HTMLElement {
  if (!cell) {
    return element('span', 'Virtual-wait', '…');
  }
  const { press } = cell;
  if (!press) {
    return element('span', 'Virtual-text', cell.text);
  }
  const one = element('button', 'Link Virtual-text', cell.text);
  one.type = 'button';
  if (cell.pressLabel) {
    one.setAttribute('aria-label', cell.pressLabel);
  }
  one.addEventListener('click', press);
  return one;
}

function spacer(rows: number, columns: number): HTMLElement {
  const cell = element('td', '');
  cell.colSpan = Math.max(1, columns);
  const row = element('tr', 'Virtual-spacer', cell);
  row.setAttribute('aria-hidden', 'true');
  row.style.height = `${rows * ROW_PX}px`;
  row.hidden = rows === 0;
  return row;
}
