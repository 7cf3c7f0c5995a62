/** A hundred thousand runs of former years, written as rows: what a page reads of a run that ended long ago. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const BEGUN_MS = Date.UTC(2020, 0, 1);

/** They come before every real run. The oldest is `old run 1`. */
export function fillRuns(projectRoot: string, count: number): void {
  const db = new DatabaseSync(join(projectRoot, '.caisson', 'ledger.db'), { timeout: 30_000 });
  db.function('at', (number) => new Date(BEGUN_MS + Number(number) * 60_000).toISOString());
  db.exec(`
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO runs (run, status, priority, accepted_offset, session, row, agent, runtime, accepted_at, ended_at)
    SELECT run, status, 5, n - ${count + 1}, session, json_object('runId', run, 'status', status, 'priority', 5,
      'acceptedOffset', n - ${count + 1}, 'acceptedAt', time, 'endedAt', time, 'attempt', 1, 'host', 'gone',
      'ending', 'dispatch.cancelled', 'session', session, 'description', 'old run ' || n, 'runtime', 'codex',
      'agent', 'fixer', 'durationMs', 12, 'costUsd', 0.01), 'fixer', 'codex', time, time
    FROM (SELECT n, 'run_0' || printf('%019d', n) AS run, 'cancelled' AS status, at(n) AS time,
      'session-' || (n % 100) AS session FROM numbers)`);
  db.close();
}
