// Can this JSON be drawn, and do the kernel's package and this front end fit together?

import type { TranslationBundle } from '@jupyterlab/translation';

import type { ViewModel } from '../../generated/view_model';
import { VIEW_SCHEMA_VERSION, type IReadable, type IUnreadable } from '../../tokens';

/** What came out of a cell, read: never throws, for a notebook may hold anything. */
export function readPrediction(
  data: unknown,
  ownVersion: string,
  trans: TranslationBundle
): IReadable | IUnreadable {
  if (!isRecord(data) || typeof data['schema_version'] !== 'number') {
    return {
      kind: 'unreadable',
      reason: trans.__('This output holds no Surfer Lab prediction. Run the cell again.')
    };
  }
  const made = typeof data['version'] === 'string' ? data['version'] : trans.__('unknown');
  if (data['schema_version'] !== VIEW_SCHEMA_VERSION || !hasShape(data)) {
    return {
      kind: 'unreadable',
      reason: trans.__(
        'This prediction was made by surfer-lab %1 and cannot be drawn by the JupyterLab extension %2. Install the same version of surfer-lab in the kernel and in JupyterLab, reload the page, and run the cell again.',
        made,
        ownVersion
      )
    };
  }
  const note =
    made === ownVersion
      ? ''
      : trans.__('Made by surfer-lab %1, drawn by the JupyterLab extension %2.', made, ownVersion);
  return { kind: 'readable', view: data, note };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Only what is drawn is looked at: lists must be lists, so that a damaged notebook gives a sentence, not an exception.
function hasShape(data: Record<string, unknown>): data is Record<string, unknown> & ViewModel {
  const lists = ['sentences', 'rows', 'shortlist', 'warnings', 'operations'];
  return (
    lists.every(name => Array.isArray(data[name])) && rowsHaveQuantities(data['rows'] as unknown[])
  );
}

const QUANTITIES = [
  'step',
  'faster',
  'samples_per_s',
  'usd_per_hour',
  'usd_per_1000_steps',
  'peak',
  'memory'
];

function rowsHaveQuantities(rows: unknown[]): boolean {
  return rows.every(
    row =>
      isRecord(row) &&
      QUANTITIES.every(name => isRecord(row[name]) && typeof row[name]['text'] === 'string')
  );
}
