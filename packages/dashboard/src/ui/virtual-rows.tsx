import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';

interface VirtualRowsProps {
  readonly count: number;
  readonly rowPx: number;
  readonly label: string;
  readonly className?: string;
  readonly role?: string;
  readonly header?: ReactNode;
  /** Keeps the end in view while it was in view. */
  readonly followsEnd?: boolean;
  /** The row to bring into view when it changes. */
  readonly shown?: number | null;
  /** How many rows have come on top so far: what is looked at stays in its place. */
  readonly onTop?: number;
  onReach?(last: number): void;
  renderRow(index: number): ReactNode;
}

const OVERSCAN = 10;
/** Browsers draw nothing below about 17 million pixels. */
const MAX_PX = 16_000_000;

/** A list of any length of which only the visible rows exist. Every row has the same height. */
export function VirtualRows({
  count,
  rowPx,
  label,
  followsEnd = false,
  shown = null,
  onTop = 0,
  onReach,
  ...props
}: VirtualRowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const isAtEnd = useRef(true);
  const rows = Math.min(count, Math.floor(MAX_PX / rowPx));
  const first = Math.max(0, Math.floor(view.top / rowPx) - OVERSCAN);
  const last = Math.min(rows, Math.ceil((view.top + view.height) / rowPx) + OVERSCAN);
  useMeasuredBox(box, setView);
  useLayoutEffect(() => {
    if (followsEnd && isAtEnd.current && box.current !== null)
      box.current.scrollTop = box.current.scrollHeight;
  }, [followsEnd, rows]);
  useStill(box, onTop * rowPx);
  useEffect(() => {
    if (shown !== null && box.current !== null) bringIntoView(box.current, shown, rowPx);
  }, [shown, rowPx]);
  useEffect(() => onReach?.(last), [last, onReach]);
  const scroll = () => {
    const element = box.current;
    if (element === null) return;
    isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - rowPx;
    setView({ top: element.scrollTop, height: element.clientHeight });
  };
  const slice = Array.from({ length: Math.max(0, last - first) }, (_, index) =>
    props.renderRow(first + index),
  );
  return (
    <div
      ref={box}
      className={`rows ${props.className ?? ''}`}
      role={props.role ?? 'region'}
      aria-label={label}
      aria-rowcount={props.role === 'table' ? count : undefined}
      tabIndex={0}
      onScroll={scroll}
    >
      {props.header}
      <div className="rows-sizer" role="presentation" style={{ height: rows * rowPx }}>
        <div
          className="rows-slice"
          role="presentation"
          style={{ transform: `translateY(${first * rowPx}px)` }}
        >
          {slice}
        </div>
      </div>
    </div>
  );
}

/** Scrolls by what came on top, unless the top itself is looked at. */
function useStill(box: { readonly current: HTMLDivElement | null }, topPx: number): void {
  const before = useRef(topPx);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && element.scrollTop > 0) element.scrollTop += topPx - before.current;
    before.current = topPx;
  }, [box, topPx]);
}

function useMeasuredBox(
  box: { readonly current: HTMLDivElement | null },
  setView: (view: { top: number; height: number }) => void,
): void {
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [box, setView]);
}

function bringIntoView(box: HTMLElement, row: number, rowPx: number): void {
  const top = row * rowPx;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowPx * 2 > box.scrollTop + box.clientHeight)
    box.scrollTop = top + rowPx * 2 - box.clientHeight;
}
