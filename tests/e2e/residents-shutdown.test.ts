/** A daemon that is ended while a role works: the role has 10 s, then its process is killed, and the next daemon goes on. */
import { join } from 'node:path';
import { descendants } from '@caisson/ground';
import type { DaemonStatus } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { isGone, openedLedger, serve } from '../faults/killed-daemons.ts';
import { openTerminal } from './on-terminal.ts';
import { createProject, until, type Project } from './project.ts';
import { readJson, startThread, untilEnded, untilResident, workflowOf } from './resident-project.ts';

const GRACE_MS = 10_000;
/** For timers, and for a busy machine. */
const [EARLY_MS, LATE_MS] = [500, 15_000];

/** Once there is a file `go` it answers; before, it does not end, and does not look at its signal. */
const flowThat = (neverEnds: string): string =>
  workflowOf({
    work: `const { existsSync } = process.getBuiltinModule('node:fs');
      await step('begun', () => 1);
      if (existsSync(projectRoot + '/go')) return 'again';
      ${neverEnds}`,
  });

interface Ending {
  readonly neverEnds: string;
  /** Starts a daemon; returns what ends it. */
  start(project: Project): Promise<() => unknown>;
}

const CTRL_C: Ending = {
  neverEnds: `await new Promise(() => setInterval(() => {}, 1000));`,
  async start(project) {
    await project.trust();
    const terminal = openTerminal(project, ['up']);
    await until('it serves', async () => (await readJson<DaemonStatus>(project, 'status')).pid);
    return () => terminal.type('\x03');
  },
};

const SIGTERM: Ending = {
  neverEnds: `for (;;);`,
  async start(project) {
    const pid = await serve(project);
    return () => process.kill(pid, 'SIGTERM');
  },
};

async function endAndGoOn({ neverEnds, start }: Ending): Promise<void> {
  const project = createProject({ config: 'workflows: { flow: { file: flow.ts } }\n' });
  project.write('flow.ts', flowThat(neverEnds));
  const end = await start(project);
  const { pid: daemon } = await readJson<DaemonStatus>(project, 'status');
  const threadId = await startThread(project, 'flow');
  const ledger = openedLedger(join(project.root, '.caisson'));
  const begun = () => ledger.read({ runId: threadId, types: ['thread.step-ended'] });
  await until('its role works', () => begun().length === 1);
  const { pid: worker = 0 } = await untilResident(project, 'workflow.flow');
  const all = [worker, ...descendants(worker).map(({ pid }) => pid)];
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(worker, signal); // not for it
  const endedAt = performance.now();
  end();
  await until('the daemon is gone', () => isGone(daemon), GRACE_MS + LATE_MS);
  const tookMs = performance.now() - endedAt;
  expect(tookMs).toBeGreaterThan(GRACE_MS - EARLY_MS);
  expect(all.filter((pid) => !isGone(pid))).toEqual([]);
  expect(ledger.thread(threadId)).toMatchObject({ status: 'running', rounds: 0 });
  project.write('go', '');
  await serve(project);
  expect(await untilEnded({ project, ledger, daemonPid: daemon }, threadId)).toMatchObject({
    status: 'done',
    messages: [{ content: 'again' }],
  });
  expect(begun()).toHaveLength(1);
}

it(
  'Ctrl-C and SIGTERM give a role 10 s, leave nothing, and cost its thread nothing',
  { timeout: 120_000 },
  () => Promise.all([CTRL_C, SIGTERM].map(endAndGoOn)),
);
