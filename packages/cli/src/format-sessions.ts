import type { SessionSummary } from '@caisson/engine';
import { formatTable } from './format-table.ts';
import type { Line, Lines } from './painted.ts';

export function formatSessions(sessions: readonly SessionSummary[], bold: (text: Line) => Line): Lines {
  if (sessions.length === 0) return ['No session has a board or findings yet.'];
  const rows = sessions.map(({ name, boardKeys, findings, changedAt }) => [
    name,
    String(boardKeys),
    String(findings),
    changedAt,
  ]);
  return formatTable([['SESSION', 'BOARD KEYS', 'FINDINGS', 'CHANGED'], ...rows], bold);
}
