/** The visible part of a timeline. */
export interface View {
  readonly fromMs: number;
  readonly toMs: number;
}

const MIN_SPAN_MS = 20;

/** `factor` below 1 goes nearer; `at` (0 to 1) is the place that stays. */
export function zoom(view: View, whole: View, factor: number, at = 0.5): View {
  const span = view.toMs - view.fromMs;
  const next = Math.min(whole.toMs - whole.fromMs, Math.max(MIN_SPAN_MS, span * factor));
  return clamp(view.fromMs + (span - next) * at, next, whole);
}

/** `share` of the visible part, to the right. */
export function pan(view: View, whole: View, share: number): View {
  const span = view.toMs - view.fromMs;
  return clamp(view.fromMs + span * share, span, whole);
}

function clamp(fromMs: number, span: number, whole: View): View {
  const from = Math.max(whole.fromMs, Math.min(fromMs, whole.toMs - span));
  return { fromMs: from, toMs: from + span };
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000];
const LONG_STEPS = [
  60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

/** Times for the axis, since the start. */
export function ticksOf({ fromMs, toMs }: View, startMs: number, count: number): number[] {
  const wanted = (toMs - fromMs) / count;
  const step =
    [...STEPS, ...LONG_STEPS].find((each) => each >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000;
  const first = Math.ceil((fromMs - startMs) / step) * step;
  const ticks: number[] = [];
  for (let tick = first; tick <= toMs - startMs && ticks.length < 50; tick += step) ticks.push(tick);
  return ticks;
}
