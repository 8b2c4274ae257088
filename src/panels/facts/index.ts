// Sections whose sentences and tables come ready from the kernel: scaling to several GPUs, planning a training run.

import type { Prediction } from '../../prediction';
import type { ISection } from '../section';
import { FactsBody } from './body';
import { readFacts } from './model';

/** They show where the view has them; a view of a version that knows none has none. */
export const scalingSection: ISection = factsSection('scaling', trans => trans.__('Scaling'));
export const planSection: ISection = factsSection('plan', trans => trans.__('Plan a training run'));

function factsSection(field: 'scaling' | 'plan', title: ISection['title']): ISection {
  const facts = (prediction: Prediction | null): ReturnType<typeof readFacts> =>
    prediction && readFacts((prediction.stored as unknown as Record<string, unknown>)[field]);
  return {
    id: field,
    isOpen: false,
    title,
    has: prediction => facts(prediction) !== null,
    create: context => new FactsBody(context, facts)
  };
}
