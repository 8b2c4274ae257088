// The first section: what was measured, the sentence, warnings, and how it was predicted.

import type { ISection } from '../section';
import { SummaryBody } from './body';

export const summarySection: ISection = {
  id: 'summary',
  isOpen: true,
  title: trans => trans.__('Summary'),
  has: () => true,
  create: context => new SummaryBody(context)
};
