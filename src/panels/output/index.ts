// Who draws predictions in notebooks? A renderer of our MIME type, ranked before the HTML that it travels with.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Panel } from '@lumino/widgets';

import { NumberFormat } from '../../format';
import { Preferences } from '../../preferences';
import { IPreferences, PREDICTION_MIME_TYPE, TRANSLATION_DOMAIN } from '../../tokens';
import { OWN_VERSION } from '../../version';
import { PredictionBody } from './body';
import { readPrediction } from './model';

// Below 50, where JupyterLab ranks text/html: the interactive form is preferred where it can be drawn.
const RANK = 10;

/** One output area's renderer; drawn again, it replaces what it drew before. */
export class PredictionRenderer extends Panel implements IRenderMime.IRenderer {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _preferences: IPreferences,
    private readonly _format: NumberFormat
  ) {
    super();
    this.addClass('jp-SurferRenderer');
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    for (const old of [...this.widgets]) {
      old.dispose();
    }
    this.addWidget(this._bodyOf(model.data[PREDICTION_MIME_TYPE]));
    return Promise.resolve();
  }

  private _bodyOf(data: unknown): PredictionBody {
    const prediction = readPrediction(data, OWN_VERSION, this._trans);
    try {
      return new PredictionBody(prediction, this._preferences, this._trans, this._format);
    } catch (error) {
      // A notebook edited by hand or by another program: its other outputs must still be drawn.
      console.error(error);
      const reason = this._trans.__('This prediction is damaged. Run the cell again.');
      return new PredictionBody(
        { kind: 'unreadable', reason },
        this._preferences,
        this._trans,
        this._format
      );
    }
  }
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
    const format = new NumberFormat();
    rendermime.addFactory(
      {
        safe: true, // text nodes only: nothing in a prediction is executed or parsed as markup
        mimeTypes: [PREDICTION_MIME_TYPE],
        createRenderer: () => new PredictionRenderer(trans, shared, format)
      },
      RANK
    );
  }
};
