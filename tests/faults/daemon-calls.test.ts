/** Calls of a client whose daemon is killed in the middle of them, over its real socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { createCaisson, type Caisson } from 'caisson';
import type { DaemonStatus } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { callForBytes } from '../../packages/engine/src/api/call.ts';
import { OPERATIONS, type Operation } from '../../packages/engine/src/api/operations.ts';
import { connectSocket } from '../../packages/engine/src/api/socket-connection.ts';
import { createProject } from '../e2e/project.ts';

const LIMIT_MS = 120_000;
/** Far longer than any of these calls takes, and far shorter than the run. */
const PATIENCE_MS = 20_000;
const FOLLOWED_MS = 8_000;

async function drain(values: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _value of values) count += 1;
  return count;
}

async function open(): Promise<{ caisson: Caisson; root: string; pid: number; kill: () => void }> {
  const project = createProject({ env: process.env as Record<string, string> }); // the same user as here
  const { stdout } = await project.caisson('up', '-d', '-o', 'json');
  const { pid } = JSON.parse(stdout) as DaemonStatus;
  let isKilled = false;
  const kill = (): void => {
    if (!isKilled) process.kill(pid, 'SIGKILL');
    isKilled = true;
  };
  const caisson = await createCaisson({ cwd: project.root, daemon: true });
  onTestFinished(async () => {
    kill();
    await caisson.close();
    for (const runId of readRunning(await project.caisson('runs', '-o', 'json')))
      await project.caisson('cancel', '--force', runId);
  });
  return { caisson, root: project.root, pid, kill };
}

function readRunning({ stdout }: { stdout: string }): string[] {
  const rows = JSON.parse(stdout) as { runId: string; status: string }[];
  return rows.filter(({ status }) => status === 'running').map(({ runId }) => runId);
}

/** How a call ended: with an answer, or with the code of its error. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  const late = new Promise<string>((resolve) => setTimeout(resolve, PATIENCE_MS, 'still waits').unref());
  const settled = call.then(
    () => 'answered',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );
  return Promise.race([settled, late]);
}

it.each([0, 3, 20])(
  'a daemon that is killed %i ms after its calls have come: each is answered or fails by name, and none waits for ever',
  { timeout: LIMIT_MS },
  async (delayMs) => {
    const { caisson, kill } = await open();
    const request = { runtime: 'command', argv: ['sh', '-c', 'echo up; sleep 300'] };
    const run = await caisson.dispatch(request);
    const made = await (await caisson.dispatch({ ...request, argv: ['sh', '-c', 'echo made > made'] })).ended;
    const asking = `printf '{"question":"Which?"}' > .caisson/needs_input.json`;
    const asked = await (await caisson.dispatch({ ...request, argv: ['sh', '-c', asking] })).ended;
    const signal = AbortSignal.timeout(FOLLOWED_MS); // who follows goes on without a daemon, until it is stopped
    const to = mkdtempSync(join(tmpdir(), 'caisson-calls-'));
    onTestFinished(() => rmSync(to, { recursive: true, force: true }));
    const streams = { write: () => Promise.resolve(), input: new PassThrough() };
    const calls = {
      followed: drain(caisson.follow({ signal })),
      followedRun: drain(caisson.follow(run.runId, { signal })),
      followedLog: drain(caisson.followLog(run.runId, 'stdout', { signal })),
      logged: caisson.log(made.runId, 'stdout'),
      patch: caisson.patch(made.runId),
      exported: caisson.export(made.runId, join(to, 'export')),
      saved: caisson.saveOutputs(made.runId, join(to, 'outputs')),
      applied: caisson.apply(made.runId),
      answered: caisson.answer(asked.runId, 'that').then((next) => next?.ended),
      decided: caisson.decide('approval-of-nobody', 'allow'),
      retried: caisson.retry(made.runId).then(({ ended }) => ended),
      attached: caisson.dispatch({ ...request, argv: ['cat'] }, streams).then(({ ended }) => ended),
      ended: run.ended,
      events: drain(run.events()),
      runs: caisson.runs(),
      shown: caisson.show(run.runId),
      found: caisson.find('latest'),
      recorded: caisson.events(run.runId),
      budget: caisson.budget(),
      another: caisson.dispatch({ runtime: 'command', argv: ['true'] }).then(({ ended }) => ended),
      sent: run.send('hello'),
      verified: caisson.verify(run.runId),
    };
    const outcomes = Promise.all(
      Object.entries(calls).map(async ([name, call]) => [name, await outcomeOf(call)] as const),
    );
    setTimeout(kill, delayMs);
    const others = (await outcomes).filter(([, how]) => how !== 'answered' && how !== 'DAEMON_GONE');
    // What has no seal yet, or is not there, says that, with or without a daemon.
    const isNamed = ['verified', 'exported', 'decided'];
    expect(others.filter(([name]) => !isNamed.includes(name))).toEqual([]);
    expect(others.map(([, how]) => how)).not.toContain('still waits');
    expect([await outcomeOf(run.ended), await outcomeOf(caisson.runs())]).toEqual([
      'DAEMON_GONE',
      'DAEMON_GONE',
    ]);
  },
);

it(
  'a daemon that is stopped keeps nobody waiting, except for what has to happen',
  { timeout: LIMIT_MS },
  async () => {
    const { caisson, pid } = await open();
    const run = await caisson.dispatch({ runtime: 'command', argv: ['sh', '-c', 'sleep 1; echo end'] });
    process.kill(pid, 'SIGSTOP');
    const failed = new Set(['DAEMON_SILENT']);
    const calls = [
      caisson.runs(),
      caisson.show(run.runId),
      caisson.decide('approval_none', 'deny'),
      run.send('hello'),
    ];
    const another = caisson.dispatch({ runtime: 'command', argv: ['true'] });
    expect(new Set(await Promise.all([...calls, another].map(outcomeOf)))).toEqual(failed);
    process.kill(pid, 'SIGCONT');
    expect((await run.ended).stdout).toBe('end\n');
    expect(await outcomeOf(caisson.runs())).toBe('answered');
  },
);

/** One value for each member of an input that has to be given: it is enough for every operation, or the call says USAGE. */
const GIVEN: Readonly<Record<string, unknown>> = {
  ...{ text: 'again', body: 'hello', question: 'question_none', answer: 'this', approval: 'approval_none' },
  ...{
    decision: 'deny',
    session: 'team',
    namespace: 'main',
    key: 'port',
    value: 1,
    path: 'report',
    name: 'stdout',
  },
  ...{
    kind: 'agents',
    reference: 'nobody',
    folder: '.',
    token: 'token_none',
    scopes: ['read'],
    expiresInMs: null,
  },
  ...{ sense: 'none', resident: 'none', workflow: 'none', thread: 'thread_none' },
};

function inputOf({ input }: Operation<unknown, unknown>, given: Readonly<Record<string, unknown>>): object {
  const { shape } = input() as unknown as { shape: Record<string, unknown> };
  return Object.fromEntries(
    Object.keys(shape).flatMap((name) => (name in given ? [[name, given[name]]] : [])),
  );
}

it(
  'every operation that there is ends when its daemon is killed: with an answer, or an error by name',
  { timeout: LIMIT_MS },
  async () => {
    const { caisson, root, kill } = await open();
    const ended = await (await caisson.dispatch({ runtime: 'command', argv: ['true'] })).ended;
    const connection = connectSocket(join(root, '.caisson/runtime/daemon.sock'));
    onTestFinished(() => connection.close());
    const given = { ...GIVEN, run: ended.runId, caller: { cwd: root, env: {} }, to: join(root, 'taken') };
    const calls = Object.entries(OPERATIONS).map(async ([name, any]) => {
      const operation = any as unknown as Operation<object, unknown>;
      return [
        name,
        await outcomeOf(callForBytes(connection, operation, inputOf(any as never, given))),
      ] as const;
    });
    setTimeout(kill, 20);
    const outcomes = await Promise.all(calls);
    const isNamed = (how: string): boolean =>
      how === 'answered' || (/^[A-Z_]+$/.test(how) && how !== 'USAGE');
    expect(outcomes.filter(([, how]) => !isNamed(how))).toEqual([]);
    expect(outcomes.length).toBe(Object.keys(OPERATIONS).length);
    expect(outcomes.map(([, how]) => how)).toContain('DAEMON_GONE');
  },
);
