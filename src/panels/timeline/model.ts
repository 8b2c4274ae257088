// What lies in a window of the step? Stretches of a timeline, cut to the window; and the next window to look at.

import type { TimelineView } from '../../generated/protocol';
import { unpack } from '../../packed';

/** A part of the step, in ms from its start. */
export interface IWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** One stretch of a lane; `filled`: share of it that is really taken. */
export interface ISpan {
  readonly lane: string;
  readonly kind: string;
  readonly name: string;
  readonly leftMs: number;
  readonly rightMs: number;
  readonly count: number;
  readonly filled: number;
}

const PERCENT = 100;
const FINEST_MS = 0.01;

/** The stretches in the window, cut to it. */
export function spansIn(view: TimelineView, window: IWindow): ISpan[] {
  const lane = unpack(view.lane);
  const begin = unpack(view.begin_ms);
  const length = unpack(view.length_ms);
  const name = unpack(view.name);
  const count = unpack(view.count);
  const filled = unpack(view.filled);
  const spans: ISpan[] = [];
  for (let index = 0; index < begin.length; index += 1) {
    const start = begin[index] ?? NaN;
    const end = start + (length[index] ?? 0);
    if (!(end > window.startMs && start < window.endMs)) {
      continue;
    }
    const { key = 'host', label = '' } = view.lanes[lane[index] ?? -1] ?? {};
    spans.push({
      lane: label,
      kind: key,
      name: view.names[name[index] ?? -1] ?? '',
      leftMs: Math.max(start, window.startMs),
      rightMs: Math.min(end, window.endMs),
      count: count[index] ?? 1,
      filled: (filled[index] ?? PERCENT) / PERCENT
    });
  }
  return spans;
}

/** `by` 0.5 looks at the middle half, 2 at twice as much; never beyond the step, never below 10 µs. */
export function zoomed(window: IWindow, by: number, stepMs: number): IWindow {
  const middle = (window.startMs + window.endMs) / 2;
  const width = Math.min(stepMs, Math.max(FINEST_MS, (window.endMs - window.startMs) * by));
  return within(middle - width / 2, width, stepMs);
}

/** Later by a share of the window; earlier where it is negative. */
export function moved(window: IWindow, by: number, stepMs: number): IWindow {
  const width = window.endMs - window.startMs;
  return within(window.startMs + by * width, width, stepMs);
}

function within(startMs: number, widthMs: number, stepMs: number): IWindow {
  const start = Math.min(Math.max(0, startMs), Math.max(0, stepMs - widthMs));
  return { startMs: start, endMs: Math.min(stepMs, start + widthMs) };
}
