import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { showControls } from '../ui/agent-text.tsx';
import { firstLine, formatMs } from '../ui/format.ts';
import type { Bar, Lane, Timeline } from './build-timeline.ts';
import { packLanes, type PackedLane } from './pack-lanes.ts';
import { pan, ticksOf, zoom, type View } from './view.ts';
import { useWidth } from './use-width.ts';

const ROW = 20;
const GAP = 26;
const AXIS = 22;
const MAX_DRAWN = 2500;
const TITLES: Readonly<Record<Lane, string>> = {
  phases: 'Phases',
  waits: 'Waits',
  model: 'Model calls',
  tools: 'Tools',
  scripts: 'Setup and checks',
};

interface PictureProps {
  readonly timeline: Timeline;
  onChoose(bar: Bar): void;
}

/** A picture that can be zoomed with keys, buttons or Ctrl and the wheel, and moved by dragging. */
export function TimelinePicture({ timeline, onChoose }: PictureProps) {
  const whole = { fromMs: timeline.startMs, toMs: timeline.endMs };
  const [zoomed, setZoomed] = useState<View | null>(null);
  const view = zoomed ?? whole;
  const [box, width] = useWidth();
  const lanes = useMemo(() => packLanes(timeline.bars), [timeline.bars]);
  const hold = useDrag(view, whole, width, setZoomed);
  useWheel(box, (factor, at) => setZoomed(zoom(view, whole, factor, at)));
  const height = lanes.reduce((sum, { rows }) => sum + rows * ROW + GAP, AXIS);
  const press = (event: KeyboardEvent) => {
    const next = viewAfter(event.key, view, whole);
    if (next === undefined) return;
    event.preventDefault();
    setZoomed(next);
  };
  return (
    <div className="timeline" ref={box}>
      <ZoomButtons onZoom={(factor) => setZoomed(zoom(view, whole, factor))} onAll={() => setZoomed(null)} />
      <svg
        width={width}
        height={height}
        tabIndex={0}
        role="img"
        aria-label={labelOf(timeline)}
        onKeyDown={press}
        {...hold}
      >
        <Axis view={view} startMs={timeline.startMs} width={width} height={height} />
        <Lanes lanes={lanes} view={view} width={width} onChoose={onChoose} />
      </svg>
    </div>
  );
}

function ZoomButtons({ onZoom, onAll }: { onZoom: (factor: number) => void; onAll: () => void }) {
  return (
    <div className="actions">
      <button type="button" onClick={() => onZoom(0.5)} aria-label="Zoom in">
        +
      </button>
      <button type="button" onClick={() => onZoom(2)} aria-label="Zoom out">
        −
      </button>
      <button type="button" onClick={onAll}>
        All
      </button>
      <span className="faint small">
        Keys in the picture: + − 0 ← →. Ctrl and the wheel zoom; drag moves.
      </span>
    </div>
  );
}

function Axis({
  view,
  startMs,
  width,
  height,
}: {
  view: View;
  startMs: number;
  width: number;
  height: number;
}) {
  const toX = (ms: number) => ((ms + startMs - view.fromMs) / (view.toMs - view.fromMs)) * width;
  return ticksOf(view, startMs, Math.max(2, Math.floor(width / 110))).map((tick) => {
    const x = toX(tick);
    const words = formatMs(tick);
    const isAtEdge = x + words.length * LETTER_PX > width;
    return (
      <g key={tick} className="tick">
        <line x1={x} x2={x} y1={AXIS - 4} y2={height} />
        <text x={isAtEdge ? x - 3 : x + 3} y={12} textAnchor={isAtEdge ? 'end' : 'start'}>
          {words}
        </text>
      </g>
    );
  });
}

interface LanesProps {
  readonly lanes: readonly PackedLane[];
  readonly view: View;
  readonly width: number;
  onChoose(bar: Bar): void;
}

function Lanes({ lanes, ...rest }: LanesProps) {
  let top = AXIS;
  return lanes.map((lane) => {
    const y = top;
    top += lane.rows * ROW + GAP;
    return (
      <g key={lane.lane} transform={`translate(0 ${y})`}>
        <text className="lane-title" x={2} y={16}>
          {TITLES[lane.lane]} ({lane.bars.length})
        </text>
        <LaneBars lane={lane} {...rest} />
      </g>
    );
  });
}

/** So wide is a letter at most, on the whole: a label ends within its bar. */
const LETTER_PX = 8;

function LaneBars({ lane, view, width, onChoose }: Omit<LanesProps, 'lanes'> & { lane: PackedLane }) {
  const scale = width / (view.toMs - view.fromMs);
  const visible = lane.bars.filter(({ bar }) => bar.endMs >= view.fromMs && bar.startMs <= view.toMs);
  return visible.slice(0, MAX_DRAWN).map(({ bar, row }, index) => {
    const x = Math.max(-2, (bar.startMs - view.fromMs) * scale);
    const end = Math.min(width + 2, (bar.endMs - view.fromMs) * scale);
    const w = Math.max(2, end - x);
    return (
      <g key={index} className={`bar tone-${bar.tone}`} onClick={() => onChoose(bar)}>
        <rect x={x} y={row * ROW + 20} width={w} height={ROW - 4} rx={3} />
        {w > 60 ? (
          <text x={x + 4} y={row * ROW + 32}>
            {showControls(firstLine(bar.label, Math.floor(w / LETTER_PX)))}
          </text>
        ) : null}
        <title>{showControls(`${bar.label}, ${formatMs(bar.endMs - bar.startMs)}`)}</title>
      </g>
    );
  });
}

function viewAfter(key: string, view: View, whole: View): View | null | undefined {
  if (key === '+' || key === '=') return zoom(view, whole, 0.5);
  if (key === '-') return zoom(view, whole, 2);
  if (key === '0') return null;
  if (key === 'ArrowLeft') return pan(view, whole, -0.2);
  return key === 'ArrowRight' ? pan(view, whole, 0.2) : undefined;
}

function useDrag(view: View, whole: View, width: number, setView: (view: View) => void) {
  const last = useRef<number | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      last.current = event.clientX;
    },
    onPointerMove: (event: PointerEvent) => {
      if (last.current === null || event.buttons === 0 || Math.abs(event.clientX - last.current) < 3) return;
      setView(pan(view, whole, (last.current - event.clientX) / width));
      last.current = event.clientX;
    },
    onPointerUp: () => {
      last.current = null;
    },
  };
}

/** React listens to wheels passively, so the page would zoom instead. */
function useWheel(
  box: { readonly current: HTMLElement | null },
  onZoom: (factor: number, at: number) => void,
): void {
  const latest = useRef(onZoom);
  useEffect(() => {
    latest.current = onZoom;
  });
  useEffect(() => {
    const element = box.current;
    const turn = (event: WheelEvent) => {
      if (!event.ctrlKey || element === null) return;
      event.preventDefault();
      const { left, width } = element.getBoundingClientRect();
      latest.current(event.deltaY < 0 ? 0.8 : 1.25, (event.clientX - left) / width);
    };
    element?.addEventListener('wheel', turn, { passive: false });
    return () => element?.removeEventListener('wheel', turn);
  }, [box]);
}

function labelOf({ startMs, endMs, bars }: Timeline): string {
  return `Timeline of ${formatMs(endMs - startMs)} with ${bars.length} parts. The list below says the same.`;
}
