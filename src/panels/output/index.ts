// Who draws predictions in notebooks? A renderer of our MIME type, ranked before the HTML that it travels with. What it
// draws with is loaded with the first prediction that is seen.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Panel } from '@lumino/widgets';

import { Preferences } from '../../preferences';
import { IPreferences, PREDICTION_MIME_TYPE, TRANSLATION_DOMAIN } from '../../tokens';

// Below 50, where JupyterLab ranks text/html: the interactive form is preferred where it can be drawn.
const RANK = 10;

/** One output area's renderer; drawn again, it replaces what it drew before. */
export class PredictionRenderer extends Panel implements IRenderMime.IRenderer {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _preferences: IPreferences
  ) {
    super();
    this.addClass('jp-SurferRenderer');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._model = model;
    const { drawPrediction } = await import('./draw');
    if (this._model !== model || this.isDisposed) {
      return; // another came while the code was loaded
    }
    for (const old of [...this.widgets]) {
      old.dispose();
    }
    this.addWidget(
      drawPrediction(model.data[PREDICTION_MIME_TYPE], this._preferences, this._trans)
    );
  }

  private _model: IRenderMime.IMimeModel | null = null;
}

export const outputPlugin: JupyterFrontEndPlugin<void> = {
  id: 'surfer-lab:output',
  description: 'Draws predictions in the output of cells.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ITranslator, IPreferences],
  activate: (
    _app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    translator: ITranslator | null,
    preferences: IPreferences | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TRANSLATION_DOMAIN);
    const shared = preferences ?? new Preferences();
    rendermime.addFactory(
      {
        safe: true, // text nodes only: nothing in a prediction is executed or parsed as markup
        mimeTypes: [PREDICTION_MIME_TYPE],
        createRenderer: () => new PredictionRenderer(trans, shared)
      },
      RANK
    );
  }
};
