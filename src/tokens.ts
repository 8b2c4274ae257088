// What do the parts of the front end know of each other? Interfaces and names only.

import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';

import type { StoredView } from './generated/protocol';

/** The MIME type of a prediction in a cell's output: a ViewModel as JSON. */
export const PREDICTION_MIME_TYPE = 'application/vnd.surfer-lab.prediction+json';

/** The MIME type of a training run in a cell's output: a TrainingView as JSON. */
export const TRAINING_MIME_TYPE = 'application/vnd.surfer-lab.training+json';

/** The namespace under which the interface's strings are translated. */
export const TRANSLATION_DOMAIN = 'surfer_lab';

/** The schema version of the ViewModel that this front end draws. */
export const VIEW_SCHEMA_VERSION = 2;

/** The schema version of the TrainingView that this front end draws. */
export const TRAINING_SCHEMA_VERSION = 1;

/** A prediction that can be drawn. `note` is set when kernel and front end differ in version. */
export interface IReadable {
  readonly kind: 'readable';
  readonly view: StoredView;
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

/** What went wrong, why, and what to do; `details` is for a report of it. */
export interface IFailure {
  readonly what: string;
  readonly why: string;
  readonly remedy: string;
  readonly details: string;
  /** The file does not say which GPU it was recorded on: those that it may have been. */
  readonly gpus?: readonly string[];
}

/** Which price a GPU's hour is counted at, where there is a choice. */
export type PriceBasis = 'on-demand' | 'spot';

/** Which prices count: one that is being tried, else the reader's own, else the listed one on this basis. */
export interface IPrices {
  readonly triedPrices?: ReadonlyMap<string, number>;
  readonly ownPrices: ReadonlyMap<string, number>;
  readonly basis: PriceBasis;
}

/** What a reader has set, for all notebooks: kept in JupyterLab's settings where there are any. */
export interface IPreferences extends IPrices {
  readonly changed: ISignal<IPreferences, void>;
  readonly pinned: ReadonlySet<string>;
  /** Pin a GPU to the top of the table, or take it from there. */
  togglePin(gpu: string): void;
  /** USD per hour of one GPU; null: the listed price again. */
  setOwnPrice(gpu: string, usdPerHour: number | null): void;
  setBasis(basis: PriceBasis): void;
}

/** The token by which plugins share the preferences. */
export const IPreferences = new Token<IPreferences>(
  'surfer-lab:IPreferences',
  'Pinned GPUs, own prices and the price basis of Surfer Lab.'
);
