import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchRequest } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { openRooms, prepareRun, type RoomOptions } from '../admission/fixtures/open-rooms.ts';
import type { AdmittedRun } from '../admission/index.ts';
import { describeFollowed, follow } from './follow.ts';
import { launch } from './launch.ts';

/** A real worker of this request. `expected` is what the host believes that it asked for. */
async function followRun(
  request: DispatchRequest,
  expected: (run: AdmittedRun) => AdmittedRun = (run) => run,
  options?: RoomOptions,
) {
  const { rooms } = await openRooms(options);
  const { run, record, prepared } = await prepareRun(rooms, request);
  onTestFinished(() => prepared.discard());
  const { worker, launched } = await launch(rooms, run, prepared);
  const parts = { ...prepared, attached: undefined, isAdoptable: false, launched };
  const followed = follow(rooms, describeFollowed(expected(run)), record, parts, worker);
  const end = await followed.ended;
  await record.flush();
  const types = rooms.ledger.read({ runId: run.runId }).map(({ type }) => type);
  const hasRun = existsSync(join(prepared.workspace.path, 'made.txt'));
  return { rooms, run, worker, followed, end, types, hasRun };
}

const ARGV = ['sh', '-c', 'echo printed; touch made.txt'];

test('the lines of a worker are recorded in order, after the start, and nothing of it is left', async () => {
  const { rooms, run, worker, followed, end, types, hasRun } = await followRun({ argv: ARGV });
  expect(end).toMatchObject({ code: 0, signal: null, refusal: null, stopped: null, survivors: [] });
  expect(end.lastWord).toMatchObject({ kind: 'dispatch.finished' });
  const wanted = ['attempt.launched', 'dispatch.started', 'runtime.adapter.ran', 'capture.done'] as const;
  expect([...new Set(types.filter((type) => wanted.some((one) => one === type)))]).toEqual(wanted);
  const [ran] = rooms.ledger.read({ runId: run.runId, types: ['runtime.adapter.ran'] });
  expect(ran?.data).toMatchObject({ exitCode: 0, stdout: { bytes: 8, head: 'printed\n' } });
  expect([followed.hasStarted(), hasRun]).toEqual([true, true]);
  expect(rooms.compute.recover(worker.handle)).toEqual({ alive: false });
});

test.each<[string, (run: AdmittedRun) => AdmittedRun, string]>([
  [
    'another grant',
    (run) => ({ ...run, grant: { ...run.grant, depth: run.grant.depth + 1 } }),
    'the worker applied another grant than its own',
  ],
  ['another run', (run) => ({ ...run, runId: 'run_00000000000000000009' }), 'the worker answered for'],
])(
  'a worker that answers with %s is killed before anything of the agent runs',
  async (_what, expected, detail) => {
    const { worker, rooms, followed, end, types, hasRun } = await followRun({ argv: ARGV }, expected);
    expect(end.refusal).toMatchObject({ reason: 'policy-denied', step: 5 });
    expect(end.refusal?.detail).toContain(detail);
    expect(types).not.toContain('dispatch.started');
    expect([followed.hasStarted(), hasRun]).toEqual([false, false]);
    expect(rooms.compute.recover(worker.handle)).toEqual({ alive: false });
  },
);

test('an error that nobody caught while the agent was started proves nothing: what is left is searched', async () => {
  const { rooms, worker, end } = await followRun({ task: 'do it', runtime: 'mine' }, undefined, {
    config: 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n',
    files: {
      'adapter.mjs': `export default {
  name: 'mine',
  command() {
    setImmediate(() => { throw new Error('a bug of mine'); });
    return { argv: ['/bin/sh', '-c', 'sleep 100'], env: {}, files: [], stdin: '' };
  },
  createStream: () => ({ line: () => [], end: () => ({ kind: 'answered', reply: 'done' }) }),
};\n`,
    },
  });
  expect(end.lastWord).toMatchObject({ kind: 'dispatch.failed', failure: { reason: 'worker-failed' } });
  expect(end).toMatchObject({ code: 70, signal: null, isProvenGone: false, survivors: [] });
  expect(rooms.compute.recover(worker.handle)).toEqual({ alive: false });
});
