/** Bars of one lane that overlap are drawn in rows below each other. */
import type { Bar, Lane } from './build-timeline.ts';

export interface PackedLane {
  readonly lane: Lane;
  readonly rows: number;
  readonly bars: readonly { readonly bar: Bar; readonly row: number }[];
}

const LANES: readonly Lane[] = ['phases', 'waits', 'model', 'tools', 'scripts'];
const MAX_ROWS = 6;

export function packLanes(bars: readonly Bar[]): PackedLane[] {
  return LANES.map((lane) =>
    packLane(
      lane,
      bars.filter((bar) => bar.lane === lane),
    ),
  ).filter(({ rows }) => rows > 0);
}

function packLane(lane: Lane, bars: readonly Bar[]): PackedLane {
  const ends: number[] = [];
  const packed = bars
    .toSorted((a, b) => a.startMs - b.startMs)
    .map((bar) => {
      const free = ends.findIndex((endMs) => endMs <= bar.startMs);
      const row = free === -1 ? Math.min(ends.length, MAX_ROWS - 1) : free;
      ends[row] = Math.max(ends[row] ?? 0, bar.endMs);
      return { bar, row };
    });
  return { lane, rows: ends.length, bars: packed };
}
