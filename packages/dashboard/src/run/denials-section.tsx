import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { showControls } from '../ui/agent-text.tsx';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { firstLine } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import { listDenials, type CountedDenial } from './list-denials.ts';

/** What a layer stopped, each once with how often. */
export function DenialsSection({ run, events }: { run: DispatchResult; events: readonly EventEnvelope[] }) {
  const denials = listDenials(events, run.result?.policy.denials ?? []);
  const columns: Column<CountedDenial>[] = [
    { title: 'Layer', cell: ({ layer }) => layer },
    { title: 'What', cell: ({ what }) => <code>{showControls(firstLine(what, 400))}</code> },
    { title: 'Class', cell: ({ actionClass = '' }) => actionClass },
    { title: 'Rule', cell: ({ rule = '' }) => rule },
    { title: 'Times', isNumber: true, cell: ({ count }) => count },
  ];
  return (
    <Section title="Denied">
      {denials.length === 0 ? (
        <p className="faint">Nothing was denied. What a layer stops appears here, with its rule.</p>
      ) : (
        <DataTable label="Denied" columns={columns} rows={denials} keyOf={({ key }) => key} />
      )}
    </Section>
  );
}
