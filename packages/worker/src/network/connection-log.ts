/** N4: one record per connection, with a cap, so that a loop inside cannot fill the ledger. */
import type { Clock } from '@caisson/ground';
import type { ConnectionRecord } from './contract.ts';

const MAX_RECORDS = 2000;
const MAX_TEXT_CHARS = 400;

export type Via = ConnectionRecord['via'];
export type Verdict = ConnectionRecord['verdict'];

/** One connection that is under way. */
export interface OpenConnection {
  addUp(bytes: number): void;
  addDown(bytes: number): void;
  /** Writes the record; later calls do nothing. */
  end(verdict: Verdict, detail?: string): void;
}

export interface ConnectionLog {
  start(via: Via, target: string): OpenConnection;
  /** Ends what is open and reports how many records were left out. */
  close(): void;
}

export function createConnectionLog(options: {
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  readonly onConnection: (record: ConnectionRecord) => void;
}): ConnectionLog {
  const open = new Set<OpenConnection>();
  let written = 0;
  const leftOut = { allowed: 0, denied: 0, failed: 0 };

  const write = (record: ConnectionRecord): void => {
    written += 1;
    if (written <= MAX_RECORDS) options.onConnection(record);
    else leftOut[record.verdict] += 1;
  };
  const start = (via: Via, target: string): OpenConnection => {
    const startedAt = options.clock.monotonicMs();
    let bytesUp = 0;
    let bytesDown = 0;
    const connection: OpenConnection = {
      addUp: (bytes) => void (bytesUp += bytes),
      addDown: (bytes) => void (bytesDown += bytes),
      end(verdict, detail) {
        if (!open.delete(connection)) return;
        const durationMs = Math.round((options.clock.monotonicMs() - startedAt) * 1000) / 1000;
        write({
          via,
          target: tidy(options.redact(target)),
          verdict,
          ...(detail === undefined ? {} : { detail: tidy(options.redact(detail)) }),
          bytesUp,
          bytesDown,
          durationMs,
        });
      },
    };
    open.add(connection);
    return connection;
  };
  return {
    start,
    close() {
      for (const connection of [...open]) connection.end('allowed', 'cut off when the attempt ended');
      const sum = leftOut.allowed + leftOut.denied + leftOut.failed;
      if (sum === 0) return;
      const detail = `${sum} more connections were not recorded one by one: ${leftOut.allowed} allowed, ${leftOut.denied} denied, ${leftOut.failed} failed`;
      const verdict = leftOut.denied > 0 ? 'denied' : leftOut.failed > 0 ? 'failed' : 'allowed';
      options.onConnection({
        via: 'http',
        target: '*',
        verdict,
        detail,
        bytesUp: 0,
        bytesDown: 0,
        durationMs: 0,
      });
    },
  };
}

/** The text comes from inside the sandbox: no control characters, no endless line. */
function tidy(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are the characters to remove
  return text.replaceAll(/[\u0000-\u001f\u007f]/g, '?').slice(0, MAX_TEXT_CHARS);
}
