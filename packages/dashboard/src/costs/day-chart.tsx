import { formatSum, type SpendSum } from './group-spend.ts';

const HEIGHT = 96;
const STEP = 14;

/** A bar for each day, today last. The table below it says the same. */
export function DayChart({ days }: { days: readonly SpendSum[] }) {
  const most = Math.max(...days.map(({ costUsd }) => costUsd ?? 0), 0.01);
  return (
    <figure className="day-figure">
      <svg
        className="day-chart"
        preserveAspectRatio="none"
        viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
        role="img"
        aria-label="Cost of each day"
      >
        {days.map((day, index) => (
          <DayBar key={day.name} day={day} x={index * STEP} share={(day.costUsd ?? 0) / most} />
        ))}
      </svg>
      <figcaption className="spread faint small">
        <span>{days[0]?.name}</span>
        <span>{days.at(-1)?.name}</span>
      </figcaption>
    </figure>
  );
}

function DayBar({ day, x, share }: { day: SpendSum; x: number; share: number }) {
  const height = Math.max(2, share * (HEIGHT - 4));
  return (
    <rect
      className={day.costUsd === null || day.runs === 0 ? 'unknown' : ''}
      x={x}
      y={HEIGHT - height}
      width={STEP - 4}
      height={height}
    >
      <title>{`${day.name}: ${formatSum(day)}`}</title>
    </rect>
  );
}
