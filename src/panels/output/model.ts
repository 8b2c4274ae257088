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

// What is drawn must be there, so that a damaged notebook gives a sentence and not an exception.
function hasShape(data: Record<string, unknown>): data is Record<string, unknown> & ViewModel {
  return (
    LISTS.every(name => Array.isArray(data[name])) &&
    (data['rows'] as unknown[]).every(
      row => isRecord(row) && QUANTITIES.every(name => isQuantity(row[name]))
    ) &&
    (data['operations'] as unknown[]).every(
      row =>
        isRecord(row) &&
        isQuantity(row['here']) &&
        ON_EACH_GPU.every(name => Array.isArray(row[name]))
    )
  );
}

const LISTS = [
  'sentences',
  'rows',
  'shortlist',
  'warnings',
  'assumptions',
  'operations',
  'limit_labels',
  'method_labels'
];
const QUANTITIES = ['step', 'faster', 'usd_per_hour', 'usd_per_1000_steps', 'memory'];
const ON_EACH_GPU = ['on_text', 'on_range', 'on_limit', 'on_method'];

function isQuantity(value: unknown): boolean {
  return isRecord(value) && typeof value['text'] === 'string';
}
