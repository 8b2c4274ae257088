// When is the code of a panel or an output loaded? When it is first seen: JupyterLab starts without it.

import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';

import { element } from '../components/element';

/** Holds the place of a widget until it is seen, then the widget. */
export class LazyHost extends Widget {
  constructor(
    private readonly _load: () => Promise<Widget>,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-SurferHost');
    this.layout = new PanelLayout();
  }

  protected override onBeforeShow(message: Message): void {
    super.onBeforeShow(message);
    this._show();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._show();
    }
  }

  private _show(): void {
    if (this._isLoading) {
      return;
    }
    this._isLoading = true;
    this._told?.remove();
    this._load().then(
      made => {
        if (this.isDisposed) {
          made.dispose();
        } else {
          (this.layout as PanelLayout).addWidget(made);
        }
      },
      (error: unknown) => {
        console.error(error);
        this._isLoading = false; // a lost connection: shown again, it tries again
        this._told = element(
          'p',
          'Failure',
          this._trans.__('Surfer Lab could not be loaded from the server. Reload the page.')
        );
        this._told.setAttribute('role', 'alert');
        this.node.append(this._told);
      }
    );
  }

  private _isLoading = false;
  private _told: HTMLElement | null = null;
}
