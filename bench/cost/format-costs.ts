import type { HostReport } from './host.ts';
import { PARTS, type Part } from './parts.ts';
import type { PartCounts } from './watch-host.ts';

/** What one run took, on average. */
export interface Costs {
  readonly report: HostReport;
  /** CPU time of the programs as it was sampled. */
  readonly samples: ReadonlyMap<Part, number>;
  /** How long processes of a part were there, as it was sampled. Those of a host that stays are there all the time. */
  readonly walls: ReadonlyMap<Part, number>;
  readonly counts: ReadonlyMap<Part, PartCounts>;
}

const COLUMNS = ['CPU ms', 'wall ms', 'commits', 'fsyncs', 'programs', 'files'];
const COUNTED = ['commits', 'fsyncs', 'programs', 'files'] as const;

/** The table: a line for each part, and one for all of them. Parts run at the same time: their wall times are no sum. */
export function formatCosts({ report, samples, walls, counts }: Costs): string[] {
  const { hostMs, programsMs, wallMs } = report;
  const known = PARTS.filter((part) => part === 'host' || counts.has(part) || samples.has(part));
  const timeOf = (part: Part): number => (part === 'host' ? hostMs : 0) + (samples.get(part) ?? 0);
  // A child of the host that is not yet its program looks like the host.
  const wallOf = (part: Part): number => (part === 'host' && hostMs > 0 ? wallMs : (walls.get(part) ?? 0));
  const sampledMs = known.reduce((sum, part) => sum + timeOf(part), 0);
  const countsOf = (part: Part): number[] => COUNTED.map((name) => counts.get(part)?.[name] ?? 0);
  const totals = COUNTED.map((name) => [...counts.values()].reduce((sum, each) => sum + each[name], 0));
  return [
    formatLine('per run', COLUMNS),
    ...known.map((part) => formatLine(part, [timeOf(part), wallOf(part), ...countsOf(part)])),
    formatLine('unseen', [hostMs + programsMs - sampledMs]),
    formatLine('all', [hostMs + programsMs, wallMs, ...totals]),
  ];
}

function formatLine(name: string, values: readonly (string | number)[]): string {
  const cells = values.map((value) => (typeof value === 'number' ? value.toFixed(1) : value).padStart(10));
  return `${name.padEnd(12)}${cells.join('')}`;
}
