// What does a prediction look like below its cell? The sentence, the choices, the sliders with their answer, figures,
// then everything else folded. It needs no kernel: all of it comes from the output itself.

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { element } from '../../components/element';
import type { NumberFormat } from '../../format';
import { Prediction } from '../../prediction';
import { Selection, type Change } from '../../selection';
import type { IPreferences, IReadable, IUnreadable } from '../../tokens';
import { gpusSection } from '../gpus';
import { operationsSection } from '../operations';
import { scalingSection } from '../scaling';
import type { ISection } from '../section';
import { SectionView, updateAll } from '../section_view';
import { summarySection } from '../summary';
import { timelineSection } from '../timeline';
import { whatIfSection } from '../what_if';

const SECTIONS: readonly ISection[] = [
  summarySection,
  { ...whatIfSection, isOpen: true },
  { ...gpusSection, isOpen: true },
  scalingSection,
  operationsSection,
  timelineSection
];

/** Draws one prediction, or says why it cannot. */
export class PredictionBody extends Widget {
  constructor(
    prediction: IReadable | IUnreadable,
    preferences: IPreferences,
    trans: TranslationBundle,
    format: NumberFormat
  ) {
    super();
    this.addClass('jp-SurferOutput');
    if (prediction.kind === 'unreadable') {
      const refusal = element('p', 'Failure', prediction.reason);
      refusal.setAttribute('role', 'alert');
      this.node.append(refusal);
      return;
    }
    const selection = new Selection(preferences, trans);
    this._selection = selection;
    selection.show(new Prediction(prediction.view));
    const context = { trans, format, selection, actions: { ask: () => null } };
    this._views = SECTIONS.map(section => new SectionView(section, context));
    this.node.append(...this._views.map(view => view.node));
    if (prediction.note) {
      this.node.append(element('p', 'Note', prediction.note));
    }
    this._update('prediction');
    selection.changed.connect(this._onSelection, this);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    cancelAnimationFrame(this._frame);
    this._selection?.changed.disconnect(this._onSelection, this);
    this._selection?.dispose();
    for (const view of this._views) {
      view.dispose();
    }
    super.dispose();
  }

  private _onSelection(_: Selection, change: Change): void {
    this._changes.add(change);
    this._frame ||= requestAnimationFrame(() => {
      this._frame = 0;
      const changes = [...this._changes];
      this._changes.clear();
      changes.forEach(one => {
        this._update(one);
      });
    });
  }

  private _update(change: Change): void {
    updateAll(this._views, change);
  }

  private readonly _selection: Selection | null = null;
  private readonly _views: readonly SectionView[] = [];
  private readonly _changes = new Set<Change>();
  private _frame = 0;
}
