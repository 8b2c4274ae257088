// The section that answers "which GPU, what will it cost": a table of all, cost against time, prices.

import type { ISection } from '../section';
import { GpusBody } from './body';

export const gpusSection: ISection = {
  id: 'gpus',
  isOpen: true,
  isFirstFor: ['preferences'],
  title: trans => trans.__('GPUs'),
  has: prediction => prediction.gpus.length > 0,
  create: context => new GpusBody(context)
};
