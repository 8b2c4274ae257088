// What is a section of the panel? A heading that folds, shown when the prediction has something for it.

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';

import type { NumberFormat } from '../format';
import type { Prediction } from '../prediction';
import type { Change, Selection } from '../selection';
import type { IPending } from '../session';

/** What can be done from inside a section; absent where nothing can do it (an output whose kernel is gone). */
export interface IActions {
  /** Go to the cell and line that ran an operation: "In[3]:7". */
  readonly reveal?: ((source: string) => void) | undefined;
  /** Have one more batch size worked out; absent where no kernel holds the prediction. */
  readonly addBatch?: ((size: number) => Promise<void>) | undefined;
  /** Ask the kernel that holds the prediction looked at; null where none does. */
  readonly ask: (
    question:
      | {
          readonly kind: 'operations';
          readonly gpu: string;
          readonly by: By;
          readonly first: number;
          readonly count: number;
          readonly find: string;
        }
      | { readonly kind: 'timeline'; readonly start_ms: number; readonly end_ms: number }
  ) => IPending | null;
}

export type By = 'operation' | 'kind' | 'phase' | 'module';

/** What a section draws with. */
export interface ISectionContext {
  readonly trans: TranslationBundle;
  readonly format: NumberFormat;
  readonly selection: Selection;
  readonly actions: IActions;
}

/** A section's content. */
export interface ISectionBody extends IDisposable {
  readonly node: HTMLElement;
  /** Draw what has changed; called only while the section is open. */
  update(change: Change): void;
}

/** A section that the panel may show. */
export interface ISection {
  readonly id: string;
  readonly isOpen: boolean;
  /** Changes that it is drawn for at once, being what the reader looks at then; for others after what is. */
  readonly isFirstFor?: readonly Change[];
  title(trans: TranslationBundle): string;
  /** Whether it has anything to show. */
  has(prediction: Prediction, compared: Prediction | null): boolean;
  create(context: ISectionContext): ISectionBody;
}
