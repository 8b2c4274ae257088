// What do the parts of the front end know of each other? Interfaces and names only.

import type { ViewModel } from './generated/view_model';

/** The MIME type of a prediction in a cell's output: a ViewModel as JSON. */
export const PREDICTION_MIME_TYPE = 'application/vnd.surfer-lab.prediction+json';

/** The namespace under which the interface's strings are translated. */
export const TRANSLATION_DOMAIN = 'surfer_lab';

/** The schema version of the ViewModel that this front end draws. */
export const VIEW_SCHEMA_VERSION = 1;

/** A prediction that can be drawn. `note` is set when kernel and front end differ in version. */
export interface IReadable {
  readonly kind: 'readable';
  readonly view: ViewModel;
  readonly note: string;
}

/** A prediction that this front end cannot draw, with the reason and what to do. */
export interface IUnreadable {
  readonly kind: 'unreadable';
  readonly reason: string;
}

/** One column of a table: its heading and how its cells are read. */
export interface IColumn<Row> {
  readonly label: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => ICell;
}

/** What stands in one cell of a table: the text and, below it, what qualifies it. */
export interface ICell {
  readonly text: string;
  readonly detail?: string;
}
