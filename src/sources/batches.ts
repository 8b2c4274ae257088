// How does a batch size come into a prediction that its grid lacks? The kernel that made it works it out, on all GPUs.

import type { KernelLink } from '../session';
import type { Entries } from './entries';

/** Ask for it and put it in; rejects with a RequestFailed. */
export async function addBatch(
  link: KernelLink,
  entries: Entries,
  id: string,
  size: number
): Promise<void> {
  const prediction = entries.get(id)?.prediction;
  const grid = prediction?.grid?.view;
  if (!prediction || !grid) {
    return;
  }
  const answer = await link.ask({
    kind: 'grid',
    prediction: id,
    gpus: prediction.gpus.map(gpu => gpu.name),
    batch_sizes: [size],
    precisions: grid.precisions,
    compiles: grid.compiles
  }).answer;
  if (answer.kind === 'grid') {
    entries.addBatches(id, answer.grid);
  }
}
