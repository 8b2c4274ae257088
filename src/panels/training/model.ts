// Can this JSON be drawn as a training run? A notebook may hold anything: what is drawn must be there.

import type { TrainingView } from '../../generated/protocol';
import { TRAINING_SCHEMA_VERSION } from '../../tokens';

/** The run, null where it cannot be drawn: the cell's own HTML still shows it. */
export function readTraining(data: unknown): TrainingView | null {
  return isRecord(data) && data['schema_version'] === TRAINING_SCHEMA_VERSION && hasShape(data)
    ? data
    : null;
}

function hasShape(data: Record<string, unknown>): data is Record<string, unknown> & TrainingView {
  return (
    TEXTS.every(name => typeof data[name] === 'string') &&
    LISTS.every(name => Array.isArray(data[name])) &&
    TABLES.every(name => isTable(data[name])) &&
    (data['curves'] as unknown[]).every(isCurve)
  );
}

const TEXTS = ['id', 'title', 'recommendation', 'state', 'staleness_note'];
const LISTS = ['staleness', 'staleness_geometric', 'curves', 'decisions', 'notes'];
const TABLES = ['plan', 'workers', 'trials'];

function isTable(value: unknown): boolean {
  return (
    isRecord(value) &&
    Array.isArray(value['columns']) &&
    Array.isArray(value['rows']) &&
    value['rows'].every(row => Array.isArray(row))
  );
}

function isCurve(value: unknown): boolean {
  return isRecord(value) && Array.isArray(value['seconds']) && Array.isArray(value['loss']);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
