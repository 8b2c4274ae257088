// Which body does the data of an output get? Its prediction, or a sentence where it cannot be drawn.

import type { TranslationBundle } from '@jupyterlab/translation';

import { NumberFormat } from '../../format';
import type { IPreferences } from '../../tokens';
import { OWN_VERSION } from '../../version';
import { PredictionBody } from './body';
import { readPrediction } from './model';

const format = new NumberFormat();

/** Draw what an output holds; never throws. */
export function drawPrediction(
  data: unknown,
  preferences: IPreferences,
  trans: TranslationBundle
): PredictionBody {
  const prediction = readPrediction(data, OWN_VERSION, trans);
  try {
    return new PredictionBody(prediction, preferences, trans, format);
  } catch (error) {
    // A notebook edited by hand or by another program: its other outputs must still be drawn.
    console.error(error);
    const reason = trans.__('This prediction is damaged. Run the cell again.');
    return new PredictionBody({ kind: 'unreadable', reason }, preferences, trans, format);
  }
}
