// The section that shows another prediction beside the one looked at.

import type { ISection } from '../section';
import { CompareBody } from './body';

export const compareSection: ISection = {
  id: 'compare',
  isOpen: true,
  title: trans => trans.__('Side by side'),
  has: (_, compared) => compared !== null,
  create: context => new CompareBody(context)
};
