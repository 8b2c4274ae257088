// The section of several GPUs: a curve by their number, for the link that connects them.

import type { ISection } from '../section';
import { ScalingBody } from './body';

export const scalingSection: ISection = {
  id: 'scaling',
  isOpen: true,
  title: trans => trans.__('On several GPUs'),
  has: prediction => (prediction.stored.scaling?.rows.length ?? 0) > 0,
  create: context => new ScalingBody(context)
};
