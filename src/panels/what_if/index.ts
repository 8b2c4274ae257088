// The section of the sliders: another batch size, precision, compiled, on one GPU.

import type { ISection } from '../section';
import { WhatIfBody } from './body';

export const whatIfSection: ISection = {
  id: 'what-if',
  isOpen: true,
  isFirstFor: ['gpu', 'setting', 'preferences'],
  title: trans => trans.__('What if'),
  has: prediction => prediction.gpus.length > 0,
  create: context => new WhatIfBody(context, { hasFigure: true })
};
