import { expect, test } from 'vitest';
import { sampleEnvelope } from '../../../protocol/src/fixtures/sample-events.ts';
import { reportPhases } from './report-phases.ts';

test('the log of a pool says that a check failed, which does not reject the task', async () => {
  const lines: string[] = [];
  const { handoff } = sampleEnvelope('handoff.recorded');
  for (const verify of ['failed', 'passed', 'none'] as const) {
    const recorded = { handoff: { ...handoff, verdict: { ...handoff.verdict, verify } } };
    const run = {
      runId: 'run_1',
      async *events() {
        yield sampleEnvelope('handoff.recorded', recorded);
      },
    };
    await reportPhases(run as unknown as Parameters<typeof reportPhases>[0], 't', (line) => lines.push(line));
  }
  const said = `[worker:t] hand-off: ${handoff.status}, said by the ${handoff.by}`;
  expect(lines).toEqual([`${said}; its check FAILED`, said, said]);
});
