import type { Caisson, SessionSummary } from '@caisson/engine';
import { formatTable } from './format-table.ts';
import type { Output } from './output.ts';
import type { Line, Lines } from './painted.ts';
import { UsageError } from './usage-error.ts';

/** What a command about one session does when none is named: it lists them, if nothing else was asked. */
export async function printSessions(
  command: string,
  words: readonly string[],
  caisson: Caisson,
  output: Output,
): Promise<void> {
  if (words.length > 0)
    throw new UsageError(`${command} needs a session: "${words.join(' ')}" of which session?`, {
      remedy: `Name it with --session; ${command} alone lists the sessions.`,
    });
  const sessions = await caisson.sessions.list();
  output.result(sessions, () => formatSessions(sessions, output.style.bold));
}

function formatSessions(sessions: readonly SessionSummary[], bold: (text: Line) => Line): Lines {
  if (sessions.length === 0) return ['No session has a board or findings yet.'];
  const rows = sessions.map(({ name, boardKeys, findings, changedAt }) => [
    name,
    String(boardKeys),
    String(findings),
    changedAt,
  ]);
  return formatTable([['SESSION', 'BOARD KEYS', 'FINDINGS', 'CHANGED'], ...rows], bold);
}
