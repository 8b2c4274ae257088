// How does a section fold? A native details element; its body is made when it is first opened and drawn while it is open.

import { keepsKeys } from '../components/controls';
import { element } from '../components/element';
import type { Change } from '../selection';
import { forget, later } from '../slices';
import type { ISection, ISectionBody, ISectionContext } from './section';

/** Draw a change in all sections: first, and at once, in those that answer it. */
export function updateAll(views: readonly SectionView[], change: Change): void {
  for (const view of views) {
    if (view.isFirstFor(change)) {
      view.update(change);
    }
  }
  for (const view of views) {
    if (!view.isFirstFor(change)) {
      view.updateLater(change);
    }
  }
}

/** One section in a panel or an output. */
export class SectionView {
  constructor(
    private readonly _section: ISection,
    private readonly _context: ISectionContext
  ) {
    this.node = element(
      'details',
      'Section',
      keepsKeys(element('summary', 'Section-title', _section.title(_context.trans)))
    );
    this.node.dataset['section'] = _section.id;
    this.node.open = _section.isOpen;
    this.node.addEventListener('toggle', this._onToggle);
  }

  readonly node: HTMLDetailsElement;

  isFirstFor(change: Change): boolean {
    return change === 'prediction' || this._section.isFirstFor?.includes(change) === true;
  }

  updateLater(change: Change): void {
    this._waiting.add(change);
    later(this, () => {
      const changes = [...this._waiting];
      this._waiting.clear();
      changes.forEach(one => {
        this.update(one);
      });
    });
  }

  update(change: Change): void {
    const { prediction, compared } = this._context.selection;
    const isThere = prediction !== null && this._section.has(prediction, compared);
    this.node.hidden = !isThere;
    if (!isThere) {
      return;
    }
    if (!this.node.open) {
      this._missed = true;
      return;
    }
    this._draw(this._missed ? 'prediction' : change);
  }

  dispose(): void {
    forget(this);
    this.node.removeEventListener('toggle', this._onToggle);
    this._body?.dispose();
    this._body = null;
  }

  private readonly _onToggle = (): void => {
    if (this.node.open && !this.node.hidden && this._missed) {
      this._draw('prediction');
    }
  };

  private _draw(change: Change): void {
    this._missed = false;
    const { trans } = this._context;
    try {
      if (!this._body) {
        this._body = this._section.create(this._context);
        this.node.append(this._body.node);
        change = 'prediction';
      }
      this._body.update(change);
    } catch (error) {
      // a view edited by hand or by another program: the other sections must still be drawn
      console.error(error);
      this._missed = true;
      this._body?.dispose();
      this._body = null;
      const told = element(
        'p',
        'Failure',
        trans.__('This part of the prediction is damaged. Run the cell again.')
      );
      told.setAttribute('role', 'alert');
      this.node.querySelector('.jp-SurferFailure')?.remove();
      this.node.append(told);
    }
  }

  private _body: ISectionBody | null = null;
  private readonly _waiting = new Set<Change>();
  private _missed = true;
}
