// Can this JSON be drawn, and do the kernel's package and this front end fit together?

import type { TranslationBundle } from '@jupyterlab/translation';

import type { StoredView } from '../../generated/protocol';
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
function hasShape(data: Record<string, unknown>): data is Record<string, unknown> & StoredView {
  const { rows, provenance } = data;
  return (
    LISTS.every(name => Array.isArray(data[name])) &&
    PACKED.every(name => isPacked(data[name])) &&
    isRecord(provenance) &&
    typeof provenance['id'] === 'string' &&
    isRecord(rows) &&
    Array.isArray(rows['gpu']) &&
    ROW_COLUMNS.every(name => isPacked(rows[name]))
  );
}

const LISTS = [
  'sentences',
  'choices',
  'shortlist',
  'vendors',
  'architectures',
  'verdicts',
  'bounds',
  'prices',
  'part_labels',
  'limit_labels',
  'method_labels',
  'operations',
  'warnings',
  'assumptions'
];
const PACKED = ['operation_ms', 'operation_low_ms', 'operation_high_ms', 'operation_kind'];
const ROW_COLUMNS = ['memory_gb', 'verdict', 'step_ms', 'low_ms', 'high_ms', 'usd_per_hour'];

function isPacked(value: unknown): boolean {
  return isRecord(value) && typeof value['kind'] === 'string' && typeof value['data'] === 'string';
}
