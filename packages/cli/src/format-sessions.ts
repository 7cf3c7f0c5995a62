import type { SessionSummary } from '@caisson/engine';
import { formatTable } from './format-values.ts';

export function formatSessions(sessions: readonly SessionSummary[], bold: (text: string) => string): string {
  if (sessions.length === 0) return 'No session has a board or findings yet.';
  const rows = sessions.map(({ name, boardKeys, findings, changedAt }) => [
    name,
    String(boardKeys),
    String(findings),
    changedAt,
  ]);
  return formatTable([['SESSION', 'BOARD KEYS', 'FINDINGS', 'CHANGED'], ...rows], bold);
}
