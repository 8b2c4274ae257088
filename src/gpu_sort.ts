// In which order do GPUs stand? Pinned first, then by the column chosen; what is not known stays last both ways.

/** The column that orders the table, and its direction. */
export interface ISort {
  readonly key: string;
  readonly isDescending: boolean;
}

/** The order after a heading was pressed: that column, and its other direction when it was pressed before. */
export function nextSort(now: ISort, key: string): ISort {
  return { key, isDescending: now.key === key && !now.isDescending };
}

/** `rows` in order; `valueOf` is a number or a text, null where not known. Rows that are equal keep their order. */
export function sorted<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => number | string | null,
  isDescending: boolean,
  isPinned: (row: Row) => boolean
): Row[] {
  const keyed = rows.map(row => ({ row, value: valueOf(row), pinned: isPinned(row) }));
  keyed.sort((a, b) => {
    if (a.pinned !== b.pinned) {
      return a.pinned ? -1 : 1;
    }
    if (a.value === null || b.value === null) {
      return Number(a.value === null) - Number(b.value === null);
    }
    const order =
      typeof a.value === 'number' && typeof b.value === 'number'
        ? a.value - b.value
        : String(a.value).localeCompare(String(b.value));
    return isDescending ? -order : order;
  });
  return keyed.map(one => one.row);
}
