// How is a table of rows drawn? A native table with a caption, one heading a column, the first cell heads its row.

import type { IColumn } from '../tokens';
import { element } from './element';

/** A table of `rows`; `isMarked` rows carry a class and a sign, so that colour is not the only mark. */
export function table<Row>(
  caption: string,
  columns: readonly IColumn<Row>[],
  rows: readonly Row[],
  isMarked: (row: Row) => boolean = () => false
): HTMLTableElement {
  const made = element('table', 'Table');
  made.append(element('caption', 'Table-caption', caption));
  const head = made.createTHead().insertRow();
  for (const column of columns) {
    const heading = element('th', '', column.label);
    heading.scope = 'col';
    heading.classList.toggle('jp-SurferTable-number', column.isNumber === true);
    head.append(heading);
  }
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    line.classList.toggle('jp-SurferTable-marked', isMarked(row));
    columns.forEach((column, index) => {
      line.append(cellOf(column, row, index === 0));
    });
  }
  return made;
}

function cellOf<Row>(column: IColumn<Row>, row: Row, headsRow: boolean): HTMLTableCellElement {
  const { text, detail } = column.cell(row);
  const cell = element(headsRow ? 'th' : 'td', '', text);
  if (headsRow) {
    cell.scope = 'row';
  }
  cell.classList.toggle('jp-SurferTable-number', column.isNumber === true);
  if (detail) {
    cell.append(element('span', 'Table-detail', detail));
  }
  return cell;
}
