// How does a source stand? One state of the panel: what is said, and the one thing to do next.

import type { TranslationBundle } from '@jupyterlab/translation';

import type { ISource, IWork } from '../../sources/source';
import type { IFailure } from '../../tokens';
import { OWN_VERSION } from '../../version';

/** What a reader can do about a state. */
export type Action = 'insert' | 'load' | 'start-kernel' | 'open-example' | 'open-trace' | 'retry';

/** A state without a prediction to show. */
export interface IPlainState {
  readonly kind:
    | 'no-notebook'
    | 'no-kernel'
    | 'dead'
    | 'mismatch'
    | 'empty'
    | 'unloaded'
    | 'busy'
    | 'working'
    | 'failed';
  readonly title: string;
  readonly text: string;
  /** Further facts: no GPU here, no torch. */
  readonly hints: readonly string[];
  readonly failure: IFailure | null;
  readonly work: IWork | null;
  readonly actions: readonly Action[];
  /** What a cell to start from looks like. */
  readonly example: string;
}

const EXAMPLE = `%%predict
for images, labels in loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()`;

/** The state of a source that has nothing to show yet. */
export function stateOf(source: ISource | null, trans: TranslationBundle): IPlainState {
  const plain = {
    text: '',
    hints: [],
    failure: null,
    work: null,
    actions: [],
    example: ''
  };
  if (!source) {
    return {
      ...plain,
      kind: 'no-notebook',
      title: trans.__('No notebook is open.'),
      text: trans.__(
        'Open a notebook whose training step you want to predict, or a trace of the torch profiler that somebody sent you.'
      ),
      actions: ['open-example', 'open-trace']
    };
  }
  if (source.work) {
    return {
      ...plain,
      kind: 'working',
      title: source.label,
      text: source.work.text,
      work: source.work
    };
  }
  if (source.failure) {
    return {
      ...plain,
      kind: 'failed',
      title: source.failure.what,
      failure: source.failure,
      actions: source.retry ? ['retry'] : []
    };
  }
  const [unreadable] = source.unreadable;
  if (unreadable !== undefined) {
    return {
      ...plain,
      kind: 'mismatch',
      title: trans.__('A prediction of this notebook cannot be drawn.'),
      text: unreadable
    };
  }
  const { link } = source;
  switch (link?.state ?? 'none') {
    case 'none':
      return {
        ...plain,
        kind: 'no-kernel',
        title: trans.__('This notebook has no kernel.'),
        text: trans.__(
          'Start one to predict a cell. Predictions saved in the notebook are shown without one.'
        ),
        actions: ['start-kernel', 'open-trace']
      };
    case 'dead':
      return {
        ...plain,
        kind: 'dead',
        title: trans.__('The kernel has stopped.'),
        text: trans.__('Restart it to predict a cell.'),
        actions: ['start-kernel']
      };
    case 'mismatched':
      return {
        ...plain,
        kind: 'mismatch',
        title: trans.__('The kernel and JupyterLab have different versions of surfer-lab.'),
        text:
          link?.refusal?.what ??
          trans.__(
            'The kernel has %1, JupyterLab has %2. Install the same version in both, restart the kernel, and reload the page.',
            link?.hello?.version ?? trans.__('an unknown version'),
            OWN_VERSION
          )
      };
    case 'starting':
    case 'restarting':
      return {
        ...plain,
        kind: 'busy',
        title: trans.__('The kernel is starting.'),
        text: trans.__('The panel connects when it is up; a cell that runs has to end first.')
      };
    case 'unloaded':
      return {
        ...plain,
        kind: 'unloaded',
        title: trans.__('Surfer Lab is not loaded in this kernel yet.'),
        text: trans.__('Run %load_ext surfer_lab in the notebook, or press the button.'),
        actions: ['load', 'open-example', 'open-trace'],
        example: `%load_ext surfer_lab\n\n${EXAMPLE}`
      };
    case 'connected':
      return connectedState(source, trans, plain);
  }
}

function connectedState(
  source: ISource,
  trans: TranslationBundle,
  plain: Omit<IPlainState, 'kind' | 'title'>
): IPlainState {
  const { link } = source;
  if (link?.isBusy) {
    return {
      ...plain,
      kind: 'busy',
      title: trans.__('The kernel is running a cell.'),
      text: trans.__('If %%predict is on its first line, its prediction appears here when it ends.')
    };
  }
  const hints = [
    link?.hello && !link.hello.has_torch
      ? trans.__('torch is not imported in this kernel yet. %%predict observes what torch runs.')
      : '',
    link?.hello?.gpu === ''
      ? trans.__(
          'No GPU is seen here, and none is needed: the cell runs on the CPU, and times on GPUs are worked out from its operations.'
        )
      : '',
    link?.hello?.gpu ? trans.__('The cell will be measured on %1.', link.hello.gpu) : ''
  ].filter(Boolean);
  return {
    ...plain,
    kind: 'empty',
    title: trans.__('Nothing predicted in this notebook yet.'),
    text: trans.__(
      'Put %%predict at the top of the cell that runs your training loop; a few steps are enough.'
    ),
    hints,
    actions: ['insert', 'open-example', 'open-trace'],
    example: EXAMPLE
  };
}
