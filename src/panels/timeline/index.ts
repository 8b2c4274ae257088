// The section of one step in time: the host's threads against the GPU's streams.

import type { ISection } from '../section';
import { TimelineBody } from './body';

export const timelineSection: ISection = {
  id: 'timeline',
  isOpen: false,
  title: trans => trans.__('Timeline'),
  has: prediction => Boolean(prediction.stored.timeline),
  create: context => new TimelineBody(context)
};
