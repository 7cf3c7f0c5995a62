import { formatUsd } from '../ui/format.ts';
import type { SpendSum } from './group-spend.ts';

const HEIGHT = 96;
const STEP = 14;

/** A bar for each day. The table below it says the same. */
export function DayChart({ days }: { days: readonly SpendSum[] }) {
  const most = Math.max(...days.map(({ costUsd }) => costUsd ?? 0), 0.01);
  return (
    <svg
      className="day-chart"
      preserveAspectRatio="xMinYMax"
      viewBox={`0 0 ${Math.max(days.length, 14) * STEP} ${HEIGHT}`}
      role="img"
      aria-label="Cost of each day"
    >
      {days.map((day, index) => (
        <DayBar key={day.name} day={day} x={index * STEP} share={(day.costUsd ?? 0) / most} />
      ))}
    </svg>
  );
}

function DayBar({ day, x, share }: { day: SpendSum; x: number; share: number }) {
  const height = Math.max(2, share * (HEIGHT - 4));
  return (
    <rect
      className={day.costUsd === null ? 'unknown' : ''}
      x={x}
      y={HEIGHT - height}
      width={STEP - 4}
      height={height}
      rx={2}
    >
      <title>{`${day.name}: ${formatUsd(day.costUsd, day.isEstimate)}`}</title>
    </rect>
  );
}
