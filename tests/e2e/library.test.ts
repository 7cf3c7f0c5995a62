import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  BusTopic,
  createCaisson,
  createFileSink,
  grantTrust,
  type DispatchRequest,
  type SealedResult,
} from 'caisson';
import { expect, it, onTestFinished } from 'vitest';
import { createProject, finish, ROOT } from './project.ts';

async function open(cwd: string) {
  const caisson = await createCaisson({ cwd });
  onTestFinished(() => caisson.close());
  return caisson;
}

const command = (...argv: string[]): DispatchRequest => ({ runtime: 'command', argv });

it('runs the example of the library', async () => {
  const project = createProject();
  const child = spawn(process.execPath, [join(ROOT, 'examples/dispatch.mjs'), project.root], {
    cwd: ROOT,
    env: project.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stdout, stderr } = await finish(child);
  expect(stderr).toBe('');
  expect(stdout).toContain('dispatch.finished');
  expect(stdout).toContain('done: done');
  expect(stdout).toContain('+made in a sandbox');
  expect(stdout).toContain('evidence: ok');
  expect(code).toBe(0);
});

it('on a Node that is too old throws a sentence with the remedy, before anything native is loaded', async () => {
  const pretend =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })";
  const old = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const child = spawn(process.execPath, [...old, join(ROOT, 'examples/dispatch.mjs'), '/nowhere'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stderr } = await finish(child);
  expect(stderr).toContain('Node 20.19.0 is too old. Install Node 22.18 or newer and run this again.');
  expect(code).toBe(1);
});

it('runs a command line as a command, and never hands one to an agent', async () => {
  const caisson = await open(createProject({ config: 'runtime: native\n' }).root);
  const run = await caisson.dispatch({ argv: ['echo', 'hello'] });
  expect(await run.ended).toMatchObject({ status: 'done', stdout: 'hello\n' });
  await expect(caisson.dispatch({ runtime: 'native', argv: ['echo', 'hello'] })).rejects.toMatchObject({
    code: 'TASK_REFUSED',
    refusal: { check: 'command-present', kind: 'usage' },
  });
  for (const none of [null, undefined])
    await expect(caisson.dispatch(none as never)).rejects.toMatchObject({
      code: 'TASK_REFUSED',
      message: expect.stringContaining('a request is an object'),
    });
});

it('describes what a continuation would ask for, and refuses one that cannot be merged', async () => {
  const project = createProject();
  const caisson = await open(project.root);
  const first = await caisson.dispatch({ ...command('sh', '-c', 'echo theirs > README.md'), retries: 1 });
  const { runId } = await first.ended;
  await expect(caisson.continue(runId, 'more')).rejects.toMatchObject({ code: 'RUN_NOT_CONTINUABLE' });
  expect(await caisson.continuation(runId, 'more', { runtime: 'native' })).toEqual({
    ...{ task: 'more', runtime: 'native', retries: 1, continues: runId, keepWork: runId },
  });
  const resume = { sessionId: 's1' };
  const next = await caisson.dispatch({ ...command('true'), continues: runId, resume });
  await next.ended;
  expect((await caisson.continuation(next.runId, null)).resume).toEqual(resume);
  await expect(
    caisson.dispatch({ ...command('true'), continues: 'run_of_another', resume }),
  ).rejects.toMatchObject({ code: 'TASK_REFUSED', refusal: { check: 'run-continued' } });
  project.write('README.md', 'mine\n');
  await expect(caisson.continue(runId, 'more', { runtime: 'native' })).rejects.toMatchObject({
    code: 'TASK_REFUSED',
    refusal: { check: 'work-kept', detail: expect.stringContaining('conflict in: README.md') },
  });
  expect(await caisson.runs()).toHaveLength(2);
});

it('gives back a run whose start could not be recorded: an error would be answered with a second one', async () => {
  const project = createProject({ env: process.env as Record<string, string> }); // the same user as here
  await project.run('--', 'true');
  const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.type = 'visitor.acted'
           BEGIN SELECT RAISE(ABORT, 'there is no room'); END`);
  db.close();
  const caisson = await createCaisson({ cwd: project.root, client: 'a program' });
  onTestFinished(() => caisson.close());
  const warnings: string[] = [];
  caisson.bus.on(BusTopic.WARNING, ({ message }) => void warnings.push(message));
  const { runId, ended } = await caisson.dispatch(command('true'));
  expect(await ended).toMatchObject({ runId, status: 'done' });
  expect(warnings).toEqual([
    expect.stringMatching(`who asked for ${runId} could not be recorded: .*there is no room`),
  ]);
});

it('gives back a result and every event in order', async () => {
  const caisson = await open(createProject().root);
  const run = await caisson.dispatch(command('sh', '-c', 'echo hello'));
  const types: string[] = [];
  for await (const event of run.events()) if (event.seq > 0) types.push(event.type);
  const result = await run.ended;
  expect(result).toMatchObject({ runId: run.runId, status: 'done', stdout: 'hello\n', exitCode: 0 });
  expect(types[0]).toBe('dispatch.accepted');
  expect(types).toContain('dispatch.finished');
});

it('has any number of readers, of a run and of the project, whichever process works', async () => {
  const project = createProject({ env: process.env as Record<string, string> }); // the same user as here
  const caisson = await open(project.root);
  const stop = new AbortController();
  const watched: string[] = [];
  const watching = (async () => {
    for await (const event of caisson.follow({ signal: stop.signal }))
      if (event.seq > 0) watched.push(`${event.runId} ${event.seq} ${event.type}`);
  })();
  const run = await caisson.dispatch(command('sh', '-c', 'echo hello'));
  const slow = run.ended.then(() => undefined);
  const readers = Array.from({ length: 10 }, async (_, index) => {
    const seqs: number[] = [];
    for await (const event of run.events()) {
      if (event.seq > 0) seqs.push(event.seq);
      if (index < 2) await slow;
    }
    return seqs;
  });
  for await (const event of run.events()) if (event.type === 'dispatch.accepted') break;
  const [first, ...others] = await Promise.all(readers);
  expect(first).toEqual(first?.map((_, index) => index + 1));
  for (const seqs of others) expect(seqs).toEqual(first);
  const elsewhere = await project.run('--', 'true');
  await expect
    .poll(() =>
      watched.some((line) => line.startsWith(elsewhere.runId) && line.endsWith('dispatch.finished')),
    )
    .toBe(true);
  stop.abort();
  await watching;
  const own = (await caisson.events(run.runId)).map(({ seq, type }) => `${run.runId} ${seq} ${type}`);
  expect(watched.filter((line) => line.startsWith(run.runId))).toEqual(own);
}, 60_000);

it('runs several tasks at once and cancels what is left when it is closed', async () => {
  const project = createProject();
  const caisson = await createCaisson({ cwd: project.root });
  const runs = await Promise.all([1, 2, 3].map(() => caisson.dispatch(command('sleep', '600'))));
  await caisson.close();
  const again = await open(project.root);
  const statuses = (await again.runs()).map((row) => row.status);
  expect(statuses).toEqual(runs.map(() => 'interrupted'));
}, 30_000);

it('delivers sealed results to every sink, and one that fails in any way affects neither run nor other sinks', async () => {
  const project = createProject();
  const got: SealedResult[] = [];
  const eventsThen: string[] = [];
  const tries: string[] = [];
  const warnings: string[] = [];
  const caisson = await createCaisson({
    cwd: project.root,
    sinks: [
      {
        name: 'rejecting',
        deliver() {
          tries.push('rejecting');
          return Promise.reject(new Error('no room'));
        },
      },
      {
        name: 'late',
        async deliver() {
          tries.push('late');
          if (tries.filter((name) => name === 'late').length < 3) throw new Error('not yet');
        },
      },
      {
        name: 'throwing',
        deliver() {
          throw new Error('thrown at once');
        },
      },
      {
        name: 'taking',
        async deliver(sealed) {
          got.push(sealed);
          eventsThen.push(...(await caisson.events(sealed.runId)).map((event) => event.type));
        },
      },
      createFileSink(join(project.root, 'sealed')),
    ],
  });
  caisson.bus.on(BusTopic.WARNING, ({ message }) => void warnings.push(message));
  const run = await caisson.dispatch(command('sh', '-c', 'echo hello; echo x > new.txt'));
  expect(await run.ended).toMatchObject({ status: 'done' });
  const reported = (await caisson.events(run.runId)).filter((event) => event.type === 'warning');
  await caisson.close();
  expect(tries.toSorted()).toEqual(['late', 'late', 'late', 'rejecting', 'rejecting', 'rejecting']);
  expect(reported.map(({ message }) => message)).toEqual([
    'result sink rejecting failed 3 times, the last time with: no room',
    'result sink throwing failed 3 times, the last time with: thrown at once',
  ]);
  expect(got.map((sealed) => sealed.runId)).toEqual([run.runId]);
  expect(eventsThen).toContain('dispatch.finished');
  expect(eventsThen).toContain('evidence.sealed');
  expect(got[0]?.artefacts.map((artefact) => artefact.name)).toContain('patch');
  expect(JSON.parse(got[0]?.resultBytes?.toString() ?? '')).toMatchObject({ status: 'finished' });
  expect(readdirSync(join(project.root, 'sealed')).toSorted()).toEqual([
    `${run.runId}.envelope.json`,
    `${run.runId}.result.json`,
  ]);
  expect(warnings.filter((text) => text.includes('no room') || text.includes('thrown at once'))).toHaveLength(
    2,
  );
});

it('a result whose host died while a sink took it is delivered again by the next one', async () => {
  const project = createProject();
  const program = `
    import { createCaisson } from 'caisson';
    const deliver = () => process.kill(process.pid, 'SIGKILL');
    const caisson = await createCaisson({ cwd: process.argv[1], sinks: [{ name: 'deadly', deliver }] });
    await (await caisson.dispatch({ runtime: 'command', argv: ['true'] })).ended;`;
  const argv = ['--input-type=module', '-e', program, project.root];
  const { code } = await finish(
    spawn(process.execPath, argv, {
      cwd: ROOT,
      // The state folder is this process's, too.
      env: { ...project.env, XDG_STATE_HOME: process.env['XDG_STATE_HOME'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  expect(code).toBeNull();
  const got: string[] = [];
  const deliver = (sealed: SealedResult): Promise<void> => Promise.resolve(void got.push(sealed.runId));
  const caisson = await createCaisson({ cwd: project.root, sinks: [{ name: 'taking', deliver }] });
  onTestFinished(() => caisson.close());
  const [run] = await caisson.runs();
  expect(got).toEqual([run?.runId]);
  const seals = (await caisson.events(run?.runId ?? '')).filter(({ type }) => type === 'evidence.sealed');
  expect(seals).toHaveLength(1);
});

it('refuses what admission refuses, with the check that refused it', async () => {
  const caisson = await open(createProject().root);
  await expect(caisson.dispatch({ runtime: 'command' })).rejects.toMatchObject({
    code: 'TASK_REFUSED',
    refusal: { check: 'task-present' },
  });
  await expect(caisson.dispatch({ ...command('true'), mode: 'yolo' })).rejects.toMatchObject({
    refusal: { check: 'mode-known' },
  });
});

it('refuses a board entry without its writer, and the board stays readable', async () => {
  // The state folder is this process's, too.
  const project = createProject({ env: { XDG_STATE_HOME: process.env['XDG_STATE_HOME'] ?? '' } });
  const caisson = await open(project.root);
  const board = caisson.sessions.board('team');
  await board.write({ key: 'port', value: 1, by: { runId: null } });
  const anonymous = { key: 'port', value: 2 } as Parameters<typeof board.write>[0];
  await expect(board.write(anonymous)).rejects.toMatchObject({ code: 'SHARED_FILE_INVALID' });
  const shown = await project.caisson('board', 'get', 'port', '--session', 'team', '-o', 'json');
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('"value": 1');
});

it('publishes all events on the bus, and a listener that throws disturbs no other', async () => {
  const caisson = await open(createProject().root);
  const received: string[] = [];
  caisson.bus.on('caisson:run-finished', () => {
    throw new Error('listener');
  });
  caisson.bus.on('caisson:run-finished', (payload) => void received.push(payload.status));
  const run = await caisson.dispatch(command('true'));
  expect((await run.ended).status).toBe('done');
  await expect.poll(() => received).toEqual(['done']);
});

it('publishes on the bus which agent programs are here, and which settings were changed meanwhile', async () => {
  const project = createProject();
  const file = join(project.root, 'caisson.yaml');
  writeFileSync(file, 'mode: suggest\nruntimes: { mine: { bin: /bin/true, adapter: ./mine.js } }\n');
  await grantTrust({ cwd: project.root });
  const caisson = await open(project.root);
  const received: unknown[] = [];
  caisson.bus.on(BusTopic.RUNTIMES_DISCOVERED, ({ runtimes }) => received.push(runtimes));
  caisson.bus.on(BusTopic.CONFIG_CHANGED, (change) => received.push(change));

  const found = await caisson.runtimes();
  const mine = { name: 'mine', version: expect.anything() as unknown, path: '/bin/true' };
  expect(found).toContainEqual(expect.objectContaining(mine));
  await expect.poll(() => received).toEqual([expect.arrayContaining([mine])]);

  expect(await caisson.checkConfig()).toEqual([]);
  writeFileSync(file, 'mode: full-auto\nruntimes: { mine: { bin: /bin/true, adapter: ./mine.js } }\n');
  await grantTrust({ cwd: project.root });
  const change = { key: 'mode', previous: 'suggest', new: 'full-auto' };
  expect(await caisson.checkConfig()).toEqual([change]);
  await expect.poll(() => received.at(-1)).toEqual(change);
  expect(caisson.config.mode).toBe('suggest');
  writeFileSync(file, 'mode: none-such\n');
  await expect(caisson.checkConfig()).rejects.toThrow('caisson.yaml:1:7');
});

it('a listener of warnings that fails is reported to the process, because none is left on the bus', async () => {
  const caisson = await open(createProject().root);
  const warned = Promise.withResolvers<Error>();
  process.once('warning', warned.resolve);
  caisson.bus.on(BusTopic.WARNING, () => {
    throw new Error('deaf');
  });
  caisson.bus.emit(BusTopic.WARNING, { source: 'test', message: 'received?' });
  expect(await warned.promise).toMatchObject({
    name: 'CaissonBusWarning',
    message: expect.stringContaining('deaf') as unknown,
  });
});
