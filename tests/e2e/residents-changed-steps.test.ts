/** A role that asks for something else when it is called again, with the built program and a daemon. */
import { expect, it } from 'vitest';
import { isGone, serve } from '../faults/killed-daemons.ts';
import { until } from './project.ts';
import { serveResidents, startThread, untilEnded, untilThreadIs, workflowOf } from './resident-project.ts';

it(
  'a role that is not the same when it is called again says what differs, and what to do',
  { timeout: 120_000 },
  async () => {
    const code = workflowOf({
      release: `return await dispatch({ runtime: 'command', argv: ['sleep', '2'], branch: 'rel-' + Date.now() });`,
    });
    const residents = await serveResidents(['workflows: { flow: { file: flow.mts } }'], { 'flow.mts': code });
    const { project, daemonPid } = residents;
    const threadId = await startThread(project, 'flow');
    await untilThreadIs(residents, threadId, ({ waitsFor = [] }) => waitsFor[0]?.kind === 'dispatch');
    process.kill(daemonPid, 'SIGKILL');
    await until('the daemon is gone', () => isGone(daemonPid), 10_000);
    await serve(project);
    const { status, detail } = await untilEnded(residents, threadId);
    expect([status, detail]).toEqual([
      'crashed',
      expect.stringMatching(
        /^step 0 \(dispatch\) .*: branch was "rel-\d+" and is "rel-\d+" now\. .* into step\(name, work\)/,
      ),
    ]);
  },
);
