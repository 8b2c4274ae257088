// Which sections does the panel have, in which order? Each shows when the prediction has something for it.

import { compareSection } from './compare';
import { gpusSection } from './gpus';
import { operationsSection } from './operations';
import { scalingSection } from './scaling';
import type { ISection } from './section';
import { summarySection } from './summary';
import { timelineSection } from './timeline';
import { whatIfSection } from './what_if';

export const SECTIONS: readonly ISection[] = [
  summarySection,
  compareSection,
  gpusSection,
  whatIfSection,
  scalingSection,
  operationsSection,
  timelineSection
];
