/** The context registry of a session: findings of its runs, each with its source and time, none ever changed. */
import {
  CaissonError,
  ContextFile,
  SharedKey,
  type ContextFinding,
  type SharedSource,
} from '@caisson/protocol';
import { systemClock, type Clock } from '../platform/index.ts';
import {
  readSharedFile,
  removeFromSharedFile,
  updateSharedFile,
  type SharedFileKind,
} from '../files/index.ts';

const MAX_VALUE_BYTES = 64 * 1024;
const MAX_FINDINGS = 4096;

/** A refusal of the registry, with a message for the reporter. */
export class ContextRefusedError extends CaissonError {
  readonly code = 'CONTEXT_REFUSED';
}

/** Findings in one file. Concurrent reporters of any process lose nothing. */
export interface ContextRegistry {
  /** In the order in which they were reported. */
  read(query?: { key?: string; runId?: string; after?: number }): Promise<readonly ContextFinding[]>;
  /** Removes everything; false when there was nothing. */
  clear(): Promise<boolean>;
  report(finding: { key: string; value: unknown; source: SharedSource }): Promise<ContextFinding>;
}

const CONTEXT: SharedFileKind<ContextFile> = {
  maxBytes: 4 * 1024 * 1024,
  empty: () => ({ schemaVersion: 1, findings: [] }),
  parse: (value) => ContextFile.parse(value),
};

export function openContextRegistry(path: string, clock: Pick<Clock, 'now'> = systemClock): ContextRegistry {
  return {
    async read({ key, runId, after } = {}) {
      const { findings } = await readSharedFile(path, CONTEXT);
      return findings.filter(
        (finding) =>
          (key === undefined || finding.key === key) &&
          (runId === undefined || finding.source.runId === runId) &&
          (after === undefined || finding.seq > after),
      );
    },
    clear: () =>
      removeFromSharedFile(path, CONTEXT, (file) => {
        const had = file.findings.length > 0;
        file.findings = [];
        return had;
      }),
    async report({ key, value, source }) {
      checkFinding(key, value);
      return updateSharedFile(path, CONTEXT, ({ findings }) => {
        if (findings.length >= MAX_FINDINGS)
          throw new ContextRefusedError(`the session has ${MAX_FINDINGS} findings, which is the limit.`);
        const seq = (findings.at(-1)?.seq ?? 0) + 1;
        const finding = { seq, key, value, source, at: clock.now().toISOString() };
        findings.push(finding);
        return finding;
      });
    },
  };
}

function checkFinding(key: string, value: unknown): void {
  if (!SharedKey.safeParse(key).success)
    throw new ContextRefusedError(
      `"${key.slice(0, 200)}" is not a valid name for a finding: letters, digits and . _ : / - , at most 128.`,
    );
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined || Buffer.byteLength(text) > MAX_VALUE_BYTES)
    throw new ContextRefusedError(
      `the finding ${key} must be JSON of at most ${MAX_VALUE_BYTES} bytes; put more into a file and name it here.`,
    );
}
