// Where does the time go, by module? The tree of modules as an icicle, its nodes' times on the GPU looked at.

import type { IFigureData } from '../../figures/figure';
import type { Prediction } from '../../prediction';
import { unpack } from '../../packed';
import type { ISectionContext } from '../section';

/** A node of the tree; its time holds its children's. */
export interface IModuleNode {
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  readonly left: number;
  readonly right: number;
  readonly share: number;
  readonly hereMs: number | null;
  readonly onMs: number;
  readonly source: string;
}

const HUES = ['accent', 'accent_soft', 'third', 'second', 'good'];
const LEVEL_PX = 34;
const FRAME_PX = 30;

/** The nodes, parents before their children; none where the view has no modules. */
export function moduleNodes(prediction: Prediction, gpu: number): IModuleNode[] {
  const tree = prediction.stored.modules;
  if (!tree) {
    return [];
  }
  const parent = unpack(tree.parent);
  const share = unpack(tree.share);
  const left = unpack(tree.left);
  const right = unpack(tree.right);
  const times = unpack(tree.times_ms);
  const here = tree.here_ms ? unpack(tree.here_ms) : null;
  const nodes: IModuleNode[] = [];
  tree.name.forEach((name, index) => {
    const above = nodes[parent[index] ?? -1];
    const hereMs = here?.[index];
    nodes.push({
      path: above?.path && above.depth > 0 ? `${above.path}.${name}` : name,
      name,
      depth: above ? above.depth + 1 : 0,
      left: left[index] ?? 0,
      right: right[index] ?? 0,
      share: share[index] ?? 0,
      hereMs: hereMs === undefined || Number.isNaN(hereMs) ? null : hereMs,
      onMs: times[gpu * tree.name.length + index] ?? NaN,
      source: tree.source?.[index] ?? ''
    });
  });
  return nodes;
}

/** The icicle: the whole step on top, a level of modules below another. */
export function moduleFigure(prediction: Prediction, context: ISectionContext): IFigureData {
  const { trans, format, selection } = context;
  const nodes = moduleNodes(prediction, selection.gpu);
  const gpu = prediction.gpus[selection.gpu]?.name ?? '';
  const deepest = Math.max(0, ...nodes.map(node => node.depth));
  const text = (node: IModuleNode): string =>
    trans.__(
      '%1: %2 of the GPU time, %3 on %4',
      node.path,
      format.percent(node.share),
      format.duration(node.onMs),
      gpu
    );
  return {
    description: trans.__(
      'Shares of the GPU time by module: %1.',
      nodes
        .filter(node => node.depth === 1)
        .sort((a, b) => b.share - a.share)
        .slice(0, 5)
        .map(node => `${node.name} ${format.percent(node.share)}`)
        .join(', ')
    ),
    sources: {
      nodes: {
        left: nodes.map(node => node.left),
        right: nodes.map(node => node.right),
        top: nodes.map(node => -node.depth),
        bottom: nodes.map(node => -node.depth - 1),
        // a label that has no room would lie over its neighbour's
        label: nodes.map(node =>
          node.right - node.left > 0.014 * node.name.length ? node.name : ''
        ),
        text: nodes.map(text),
        color: nodes.map((node, index) =>
          node.depth === 0 ? 'idle' : (HUES[index % HUES.length] ?? 'accent')
        )
      }
    },
    height: FRAME_PX + LEVEL_PX * (deepest + 1),
    columns: [trans.__('Module'), trans.__('Share'), trans.__('Here'), trans.__('On %1', gpu)],
    rows: () =>
      nodes.map(node => [
        node.path,
        format.percent(node.share),
        format.duration(node.hereMs),
        format.duration(node.onMs)
      ])
  };
}
