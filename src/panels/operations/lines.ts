// Which rows does the table of operations have? The view's own, at once; all of them, and groups, from the kernel, in
// pages as they come into sight.

import type { Prediction } from '../../prediction';
import type { By, ISectionContext } from '../section';
import { moduleNodes } from './modules';

/** One row, whether it came with the view or from the kernel. */
export interface ILine {
  readonly name: string;
  readonly phase: string;
  readonly launches: number;
  readonly hereMs: number | null;
  readonly onMs: number;
  readonly lowMs: number;
  readonly highMs: number;
  readonly faster: number | null;
  readonly share: number | null;
  readonly limit: string;
  readonly method: string;
  readonly source: string;
  readonly module: string;
  readonly note: string;
}

const PAGE = 200;

/** Rows for one GPU, one grouping and one filter. */
export class OperationLines {
  constructor(
    private readonly _context: ISectionContext,
    private readonly _prediction: Prediction,
    private readonly _gpu: number,
    private readonly _by: By,
    private readonly _find: string,
    private readonly _arrived: () => void
  ) {
    this._own = ownLines(_prediction, _gpu, _by, _find);
    this._fetch(0);
  }

  /** So many there are. */
  get count(): number {
    return this._total ?? this._own.length;
  }

  /** Whether the kernel answers for all operations; else the view's list is all there is. */
  get isWhole(): boolean {
    return this._total !== null;
  }

  at(index: number): ILine | null {
    if (this._total === null) {
      return this._own[index] ?? null;
    }
    const line = this._lines[index];
    if (!line) {
      this._fetch(PAGE * Math.floor(index / PAGE));
    }
    return line ?? null;
  }

  dispose(): void {
    this._isDisposed = true;
  }

  private _fetch(first: number): void {
    const gpu = this._prediction.gpus[this._gpu]?.name;
    if (this._asked.has(first) || gpu === undefined) {
      return;
    }
    this._asked.add(first);
    const pending = this._context.actions.ask({
      kind: 'operations',
      gpu,
      by: this._by,
      first,
      count: PAGE,
      find: this._find
    });
    pending?.answer
      .then(answer => {
        if (answer.kind !== 'operations' || this._isDisposed) {
          return;
        }
        const { limit_labels, method_labels } = this._prediction.stored;
        this._total = answer.total;
        answer.lines.forEach((line, offset) => {
          this._lines[answer.first + offset] = {
            name: line.name,
            phase: line.phase ?? '',
            launches: line.launches,
            hereMs: line.here_ms ?? null,
            onMs: line.on_ms,
            lowMs: line.low_ms,
            highMs: line.high_ms,
            faster: line.faster ?? null,
            share: line.share,
            limit: limit_labels[line.limit ?? -1] ?? '',
            method: method_labels[line.method ?? -1] ?? '',
            source: line.source ?? '',
            module: line.module ?? '',
            note: line.note ?? ''
          };
        });
        this._arrived();
      })
      .catch(() => {
        // the kernel is gone or does not hold it any more: the view's own rows stay
      });
  }

  private readonly _own: readonly ILine[];
  private readonly _lines: ILine[] = [];
  private readonly _asked = new Set<number>();
  private _total: number | null = null;
  private _isDisposed = false;
}

/** The view's rows on one GPU, longest first; groups as the view has them, nothing is summed here. */
export function ownLines(prediction: Prediction, gpu: number, by: By, find = ''): ILine[] {
  const words = find.toLowerCase();
  return rowsBy[by](prediction, gpu)
    .filter(line =>
      [line.name, line.module, line.phase, line.source].join(' ').toLowerCase().includes(words)
    )
    .sort((a, b) => b.onMs - a.onMs || (b.share ?? 0) - (a.share ?? 0));
}

const rowsBy: Record<By, (prediction: Prediction, gpu: number) => ILine[]> = {
  operation: (prediction, gpu) =>
    prediction.operationsOn(gpu).map(operation => ({
      ...NOTHING,
      name: operation.name,
      phase: operation.phase,
      launches: operation.launches,
      hereMs: operation.hereMs,
      onMs: operation.on.value,
      lowMs: operation.on.low,
      highMs: operation.on.high,
      faster: operation.hereMs === null ? null : operation.hereMs / operation.on.value,
      limit: operation.limit,
      method: operation.method,
      source: operation.source,
      module: operation.module,
      note: operation.note
    })),
  kind: prediction => prediction.stored.families.map(sharedLine),
  phase: prediction => prediction.stored.phases.map(sharedLine),
  module: (prediction, gpu) =>
    moduleNodes(prediction, gpu).map(node => ({
      ...NOTHING,
      name: node.path,
      hereMs: node.hereMs,
      onMs: node.onMs,
      faster: node.hereMs === null ? null : node.hereMs / node.onMs,
      share: node.share,
      source: node.source
    }))
};

const NOTHING: ILine = {
  name: '',
  phase: '',
  launches: NaN,
  hereMs: null,
  onMs: NaN,
  lowMs: NaN,
  highMs: NaN,
  faster: null,
  share: null,
  limit: '',
  method: '',
  source: '',
  module: '',
  note: ''
};

function sharedLine({ label, share }: { readonly label: string; readonly share: number }): ILine {
  return { ...NOTHING, name: label, share };
}
