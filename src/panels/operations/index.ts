// The section of where the time goes: by module, by kind, by phase, by operation.

import type { ISection } from '../section';
import { OperationsBody } from './body';

export const operationsSection: ISection = {
  id: 'operations',
  isOpen: false,
  title: trans => trans.__('Operations'),
  has: prediction => prediction.stored.operations.length > 0,
  create: context => new OperationsBody(context)
};
