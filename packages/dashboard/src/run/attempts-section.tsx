import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { showControls } from '../ui/agent-text.tsx';
import { firstLine, formatMs, formatRunCost, formatTime, nameFailure } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';

type Ended = Extract<EventEnvelope, { type: 'attempt.ended' }>;

interface AttemptsProps {
  readonly run: DispatchResult;
  readonly events: readonly EventEnvelope[];
}

/** Attempts that failed before the last one. */
export function AttemptsSection({ run: { runtime }, events }: AttemptsProps) {
  const ended = events.filter((event): event is Ended => event.type === 'attempt.ended');
  const columns: Column<Ended>[] = [
    { title: 'Attempt', isNumber: true, cell: ({ attempt }) => attempt },
    { title: 'Ended', cell: ({ at }) => formatTime(at) },
    {
      title: 'Why',
      cell: ({ failure }) => showControls(`${nameFailure(failure)}: ${firstLine(failure.detail)}`),
    },
    {
      title: 'Took',
      isNumber: true,
      cell: ({ durationMs }) => (durationMs === undefined ? '' : formatMs(durationMs)),
    },
    { title: 'Cost', isNumber: true, cell: ({ costUsd }) => formatRunCost({ runtime, costUsd }, '') },
  ];
  if (ended.length === 0) return null;
  return (
    <Section title="Earlier attempts">
      <DataTable label="Earlier attempts" columns={columns} rows={ended} keyOf={({ seq }) => String(seq)} />
    </Section>
  );
}
