/** A sense that cannot be stopped takes its process down; its siblings are started again, and what they did is repeated once. */
import { createStamp, systemClock } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { openStarter } from './fixtures/open-starter.ts';
import { createWorkerRuntime } from './worker-runtime.ts';

const STUCK = `import { execFileSync } from 'node:child_process';
  export default { compute: () => execFileSync('sleep', ['600']) };`;

/** The first compute goes on until its process is ended; each is counted in a file, because its state is undone. */
const SIBLING = `import { appendFileSync, readFileSync } from 'node:fs';
  export default {
    async compute({ state, emit }) {
      const mark = process.env.CAISSON_STATE + '/computes';
      appendFileSync(mark, 'x');
      state.set('n', (state.get('n') ?? 0) + 1);
      const computes = readFileSync(mark, 'utf8').length;
      if (computes === 1) await new Promise(() => setInterval(() => {}, 1000));
      emit('computed', { computes, n: state.get('n') });
    },
  };`;

it('the compute of a sibling is repeated once, and undone before', async () => {
  const { starter, plan } = await openStarter();
  const ledger = createMemoryLedger();
  const nothing = (): void => undefined;
  const runtime = createWorkerRuntime({
    ...{ starter, clock: systemClock, ledger, limits: { respawnMs: 50 } },
    ...{ recorder: createRecorder({ ledger, clock: systemClock }), warn: nothing, onUndelivered: nothing },
    stamp: createStamp(Buffer.from('a secret')),
  });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  runtime.declare(plan('senses', { stuck: STUCK, sibling: SIBLING }), { isKept: true });
  const compute = (name: string, timeoutMs: number) =>
    runtime.compute('senses.group', {
      ...{ name, computeId: name, cause: { kind: 'user' }, causes: [], timeoutMs, graceMs: 100 },
    });
  const [stuck, sibling] = await Promise.all([compute('stuck', 300), compute('sibling', 20_000)]);
  expect(stuck.failure?.kind).toBe('timeout');
  expect(sibling).toMatchObject({ signals: [{ name: 'computed', payload: { computes: 2, n: 1 } }] });
  expect(runtime.view('senses.group')).toMatchObject({ crashes: 1, starts: 2 });
});
