import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, type NewEvent } from '../ledger/index.ts';
import { walkMissed } from './repair-own-refs.ts';

const AT = '2026-01-01T00:00:00.000Z';
/** As many as are looked at after a host died. */
const BETWEEN = 10_000;

function runWithCheckpoint(name: string): NewEvent[] {
  const runId = `run_${name.padStart(20, '0')}`;
  const event = (type: string, data: Record<string, unknown>, attempt = 1): NewEvent => {
    return { runId, attempt, type, version: 1, at: AT, trace: '', data };
  };
  const task = { id: 'task_1', description: 'count', priority: 5 };
  const resolved = { capabilities: [], env: [], model: { requested: '', served: [] } };
  const accepted = { task, host: 'host_gone', runtime: 'command', grant: SAMPLE_GRANT, resolved };
  const tree = 'a'.repeat(40);
  const checkpoint = { ref: `refs/caisson/${runId}/1`, commit: tree, tree };
  return [
    event('dispatch.accepted', accepted, 0),
    event('attempt.launched', { handle: { pid: 1 }, nonce: 'n', workspace: {} }),
    event('dispatch.started', { grant: SAMPLE_GRANT }),
    event('dispatch.finished', { durationMs: 12, checkpoint }),
  ];
}

const remark: NewEvent = {
  ...{ runId: null, attempt: 0, type: 'warning', version: 1, at: AT, trace: '' },
  data: { source: 'test', message: 'something happened' },
};

it('after a host died only the newest events are searched for refs that are gone; else all of them', async () => {
  const ledger = createMemoryLedger();
  await ledger.append(runWithCheckpoint('a'));
  await ledger.append(Array.from({ length: BETWEEN }, () => remark));
  await ledger.append(runWithCheckpoint('b'));
  const list = async (isOnlyRecent: boolean): Promise<string[]> => {
    const refs: string[] = [];
    for await (const [ref] of walkMissed(ledger, Readable.from([]), { isOnlyRecent })) refs.push(ref);
    return refs.map((ref) => ref.replace(/^.*0(.).1$/, '$1'));
  };
  expect(await list(true)).toEqual(['b']);
  expect(await list(false)).toEqual(['a', 'b']);
}, 30_000);
