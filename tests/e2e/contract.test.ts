/** One contract, two implementations: everything here is asked in this process, and of a daemon over its socket. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { startModelServer } from '@caisson/testkit';
import { createCaisson, type Caisson, type DispatchRequest, type EventEnvelope } from 'caisson';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { serveGit } from './git-server.ts';
import { createProject, type Project } from './project.ts';

const command = (...argv: string[]): DispatchRequest => ({ runtime: 'command', argv });
const shell = (script: string): DispatchRequest => command('sh', '-c', script);

async function collect(events: AsyncIterable<EventEnvelope>): Promise<EventEnvelope[]> {
  const all: EventEnvelope[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const typesOf = (events: readonly EventEnvelope[]): string[] => events.map(({ type }) => type);

const TOKEN_NAME = 'CALLERS_GIT_TOKEN';

interface Opened {
  readonly project: Project;
  readonly caisson: Caisson;
}

async function open(over: 'process' | 'daemon', config?: string, client?: string): Promise<Opened> {
  const env = process.env as Record<string, string>; // the same user as here
  const project = createProject({ env, ...(config === undefined ? {} : { config }) });
  await project.trust();
  if (over === 'daemon') {
    expect(await project.caisson('up', '-d')).toMatchObject({ code: 0 });
    onTestFinished(async () => void (await project.caisson('down', '--now')));
  }
  vi.stubEnv(TOKEN_NAME, 'token-of-the-caller'); // the daemon does not have it
  onTestFinished(() => void vi.unstubAllEnvs());
  const caisson = await createCaisson({
    cwd: project.root,
    daemon: over === 'daemon',
    ...(client === undefined ? {} : { client }),
    onNotice(notice) {
      throw new Error(notice); // the daemon must be used
    },
  });
  onTestFinished(() => caisson.close());
  return { project, caisson };
}

describe.each(['process', 'daemon'] as const)('the contract (%s)', (over) => {
  it('gives back a result, its events in order, and what the run left', async () => {
    const { project, caisson } = await open(over);
    const run = await caisson.dispatch(
      shell('echo hello; echo oops >&2; echo new > new.txt; mkdir outputs; echo out > outputs/report'),
    );
    const events = (await collect(run.events())).filter(({ seq }) => seq > 0);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]?.type).toBe('dispatch.accepted');
    const result = await run.ended;
    expect(result).toMatchObject({ runId: run.runId, status: 'done', stdout: 'hello\n', exitCode: 0 });
    expect(await caisson.events(run.runId)).toEqual(events);
    expect(await caisson.events(run.runId, { after: 2 })).toEqual(events.slice(2));
    expect(await caisson.events(run.runId, { after: 2, limit: 1 })).toEqual(events.slice(2, 3));
    expect(await collect(caisson.follow(run.runId, { after: 2 }))).toEqual(events.slice(2));
    const shown = await caisson.show(run.runId.slice(-6));
    expect(shown).toMatchObject({ runId: run.runId, status: 'done', result: result.result });
    expect(await caisson.find('latest')).toBe(run.runId);
    const wanted = { ids: [run.runId], runtime: 'command', text: 'hello', since: '2020-01-01', limit: 1 };
    expect((await caisson.runs(wanted)).map(({ runId }) => runId)).toEqual([run.runId]);
    expect(await caisson.runs({ after: run.runId, order: 'ended' })).toEqual([]);
    await expect(caisson.runs({ since: 'soon' })).rejects.toMatchObject({ code: 'INVALID_FILTER' });
    expect((await caisson.log(run.runId, 'stderr')).toString()).toBe('oops\n');
    const chunks: Buffer[] = [];
    for await (const chunk of caisson.followLog(run.runId, 'stdout')) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('hello\n');
    expect((await caisson.patch(run.runId)).toString()).toContain('+new');
    expect(await caisson.saveOutputs(run.runId, join(project.root, 'taken'))).toEqual(['report']);
    expect(await caisson.apply(run.runId)).toMatchObject({ kind: 'applied', files: ['new.txt'] });
    expect(readFileSync(join(project.root, 'new.txt'), 'utf8')).toBe('new\n');
    expect(await caisson.verify(run.runId)).toMatchObject({ runId: run.runId, outcome: 'ok' });
    const file = join(project.root, 'run.caisson');
    await caisson.export(run.runId, file);
    expect((await project.caisson('verify', file)).code).toBe(0);
    expect(await caisson.seal()).toEqual([]);
    expect(await caisson.branches()).toEqual([]);
    for (const refused of [caisson.pushBranch(run.runId), caisson.dropBranch(run.runId)])
      await expect(refused).rejects.toMatchObject({ code: 'NO_BRANCH' });
    expect(await caisson.spend()).toEqual(expect.any(Array));
    expect(await caisson.budget()).toEqual(expect.any(Array));
    expect((await caisson.usage()).bytes).toBeGreaterThan(0);
    expect(await caisson.gc()).toMatchObject({ freedBytes: expect.any(Number) as number });
    expect(await caisson.forget(run.runId)).toBe(run.runId);
  }, 60_000);

  it('pushes a branch with the variables of the caller', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path, { token: 'token-of-the-caller' });
    const { caisson } = await open(over);
    server.misbehave((request, response) => {
      if (request.url?.includes('git-receive-pack') === true) response.writeHead(403).end();
      else server.serve(request, response);
    });
    const where = { repo: server.url, gitToken: `env:${TOKEN_NAME}`, branch: 'work', push: true };
    const run = await caisson.dispatch({ ...shell('echo x >work.txt'), ...where });
    expect((await run.ended).push).toMatchObject({ status: 'failed', reason: 'credentials' });
    server.misbehave(null);
    expect(await caisson.pushBranch(run.runId)).toMatchObject({ status: 'pushed' });
  }, 60_000);

  it('reads threads, logs and schedules, and has residents where a daemon has them', async () => {
    const { caisson } = await open(over);
    const { residents } = caisson;
    expect(await residents.threads({ status: ['done', 'failed'], newestFirst: true, limit: 3 })).toEqual([]);
    expect(await residents.schedules()).toEqual([]);
    await expect(residents.thread('thread_none')).rejects.toMatchObject({
      code: 'THREAD_NOT_FOUND',
      remedy: 'caisson threads list lists them.',
    });
    await expect(residents.logs('none')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'RESIDENT_NOT_FOUND',
    });
    const asked = [
      residents.senses(),
      residents.workflows(),
      residents.list(),
      residents.trigger('none'),
      residents.startThread('none', { any: 'payload' }),
      residents.resumeThread('thread_none'),
      residents.reset('none'),
    ];
    const codes = (await Promise.allSettled(asked)).map((one) =>
      one.status === 'fulfilled' ? one.value : (one.reason as { code: string }).code,
    );
    const unknown = ['RESIDENT_NOT_FOUND', 'RESIDENT_NOT_FOUND', 'THREAD_NOT_FOUND', 'RESIDENT_NOT_FOUND'];
    expect(codes).toEqual(over === 'daemon' ? [[], [], [], ...unknown] : asked.map(() => 'NO_DAEMON'));
  }, 60_000);

  it('says no with the same words, codes and data', async () => {
    const { caisson } = await open(over);
    await expect(caisson.dispatch({ runtime: 'command' })).rejects.toMatchObject({
      code: 'TASK_REFUSED',
      refusal: { check: 'task-present', kind: 'usage' },
    });
    await expect(caisson.dispatch({ ...command('true'), nonsense: 1 } as never)).rejects.toMatchObject({
      code: 'TASK_REFUSED',
      message: expect.stringContaining('nonsense') as string,
    });
    await expect(caisson.show('run_none')).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
      remedy: 'caisson runs lists the runs of this project.',
    });
    await expect(collect(caisson.follow('run_none'))).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(caisson.patch('run_none')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(caisson.decide('latest', 'allow')).rejects.toMatchObject({ code: 'APPROVAL_CLOSED' });
    await expect(caisson.answer('question_none', 'x')).rejects.toMatchObject({
      code: expect.any(String) as string,
    });
    await expect(caisson.registry.get('agents', 'nobody')).rejects.toMatchObject({
      code: expect.any(String) as string,
    });
    expect(await caisson.runs()).toEqual([]);
  });

  it('passes on streams both ways, in order', async () => {
    const { caisson } = await open(over);
    const written: string[] = [];
    const run = await caisson.dispatch(shell('while read -r line; do echo "got $line"; done; echo end >&2'), {
      write(name, parts) {
        written.push(`${name} ${Buffer.concat(parts).toString()}`);
        return Promise.resolve();
      },
      input: Readable.from(['one\n', 'two\n']),
    });
    expect(await run.ended).toMatchObject({ status: 'done', stdout: 'got one\ngot two\n' });
    expect(written.filter((part) => part.startsWith('stdout')).join('')).toContain('got one');
    expect(written.join('')).toContain('stderr end\n');
  });

  it('records which program started a run, with its streams and without', async () => {
    const { caisson } = await open(over, undefined, 'a test');
    const attachment = { write: () => Promise.resolve() };
    const runs = [await caisson.dispatch(shell('true')), await caisson.dispatch(shell('true'), attachment)];
    for (const { runId, ended } of runs) {
      await ended;
      const acts = (await caisson.events(runId)).filter(({ type }) => type === 'visitor.acted');
      expect(acts).toMatchObject([{ client: 'a test', operation: 'dispatch', target: runId }]);
    }
    const repeat = { ...shell('true'), idempotencyKey: 'once' };
    const first = await caisson.dispatch(repeat, attachment);
    expect(await caisson.dispatch(repeat, attachment)).toMatchObject({ runId: first.runId, isEarlier: true });
    await first.ended;
    const acts = (await caisson.events(first.runId)).filter(({ type }) => type === 'visitor.acted');
    expect(acts).toHaveLength(1);
  });

  it('makes, lists and revokes tokens, and shows the secret of one once', async () => {
    const { caisson } = await open(over);
    const { tokens } = caisson;
    expect(await tokens.list()).toEqual([]);
    const made = await tokens.create({ name: 'one', scopes: ['read'], expiresInMs: null });
    const { token, ...listed } = made;
    expect(token).toMatch(new RegExp(`^cai_${made.id}_`));
    expect(listed).toMatchObject({ name: 'one', kind: 'token', scopes: ['read'], expiresAt: null });
    const other = await tokens.create({ name: 'other', scopes: ['run', 'decide'], expiresInMs: 60_000 });
    expect(Date.parse(other.expiresAt ?? '') - Date.parse(other.createdAt)).toBeGreaterThan(59_000);
    const byName = (await tokens.list()).toSorted((a, b) => a.name.localeCompare(b.name));
    expect(byName).toEqual([listed, { ...other, token: undefined }]);
    expect(JSON.stringify(byName)).not.toContain(token);
    expect([await tokens.revoke(made.id), await tokens.revoke(made.id)]).toEqual([true, false]);
    expect((await tokens.list()).map(({ id }) => id)).toEqual([other.id]);
  });

  it('knows the newest offset, from which a follower goes on, and drains a run that timed out once', async () => {
    const { caisson } = await open(over);
    expect(await caisson.lastOffset()).toBe(0);
    const task = { pool: 'workers' };
    const late = await caisson.dispatch({ ...command('sleep', '600'), ...task, retries: 0, timeoutMs: 1000 });
    expect((await late.ended).status).toBe('timeout');
    await expect.poll(async () => typesOf(await caisson.events(late.runId))).toContain('evidence.sealed');
    const after = await caisson.lastOffset();
    expect(after).toBeGreaterThan(0);
    await caisson.drain(late.runId);
    await caisson.drain(late.runId);
    const news = await collect(caisson.follow({ after, onlyRecorded: true, runs: [late.runId] }));
    expect(typesOf(news)).toEqual(['timeout.drained']);
    expect(await caisson.lastOffset()).toBeGreaterThan(after);
    const [ordinary, done] = await Promise.all([
      caisson.dispatch({ ...command('sleep', '600'), retries: 0, timeoutMs: 1000 }),
      caisson.dispatch({ ...command('true'), ...task }),
    ]);
    for (const { runId, ended } of [ordinary, done]) {
      await ended;
      await caisson.drain(runId); // of no pool, or not late: nothing to take off
      expect(typesOf(await caisson.events(runId))).not.toContain('timeout.drained');
    }
    await expect(caisson.drain('run_none')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  }, 60_000);

  it('has any number of readers, of a run and of the project, and each can leave', async () => {
    const { caisson } = await open(over);
    const stop = new AbortController();
    const watched: string[] = [];
    const watching = (async () => {
      for await (const { seq, runId } of caisson.follow({ signal: stop.signal }))
        if (seq > 0) watched.push(`${runId} ${seq}`);
    })();
    const run = await caisson.dispatch(shell('sleep 1; echo hello'));
    for await (const event of run.events()) if (event.type === 'dispatch.accepted') break;
    const readers = await Promise.all(Array.from({ length: 8 }, () => collect(run.events())));
    const recorded = (await caisson.events(run.runId)).map(({ seq }) => seq);
    for (const read of readers) expect(read.map(({ seq }) => seq).filter((seq) => seq > 0)).toEqual(recorded);
    await expect.poll(() => watched).toEqual(recorded.map((seq) => `${run.runId} ${seq}`));
    stop.abort();
    await watching;
    const types = ['dispatch.started', 'dispatch.finished'] as const;
    const once = await collect(caisson.follow(run.runId, { types }));
    expect(once.map(({ type }) => type)).toEqual(types);
    const other = await caisson.dispatch(shell('true'));
    await other.ended;
    const ofProject: EventEnvelope[] = [];
    for await (const event of caisson.follow({ after: 0, runs: [run.runId, other.runId], types })) {
      ofProject.push(event);
      if (ofProject.length === 4) break;
    }
    expect(ofProject.map(({ runId, type }) => `${runId} ${type}`)).toEqual(
      [run.runId, other.runId].flatMap((runId) => types.map((type) => `${runId} ${type}`)),
    );
    const left = new AbortController();
    left.abort();
    expect(await collect(caisson.follow(run.runId, { signal: left.signal }))).toEqual([]);
  }, 60_000);

  it('steers runs: messages, questions, continuations, cancels', async () => {
    const { caisson } = await open(over);
    const asking = await caisson.dispatch(
      shell('test -e done || { echo \'{"question":"which?"}\' > .caisson/needs_input.json; }'),
    );
    expect((await asking.ended).status).toBe('waiting');
    expect(await caisson.questions({ status: 'open' })).toMatchObject([
      { runId: asking.runId, text: 'which?' },
    ]);
    const answered = await caisson.answer(asking.runId, 'this');
    await answered?.ended;
    expect((await caisson.show(asking.runId)).status).toBe('answered');
    const again = await caisson.retry(asking.runId);
    expect((await again.ended).runId).not.toBe(asking.runId);
    expect(await caisson.continuation(again.runId, null, { priority: 1 })).toMatchObject({
      continues: again.runId,
      priority: 1,
    });
    const long = await caisson.dispatch(command('sleep', '600'));
    for await (const event of long.events()) if (event.type === 'dispatch.started') break;
    expect(await caisson.send(long.runId, 'hello')).toMatch(/^message_/);
    expect((await caisson.runs({ status: ['running', 'queued'] })).map(({ runId }) => runId)).toEqual([
      long.runId,
    ]);
    const given = new AbortController();
    const waiting = await caisson.attach(long.runId, { signal: given.signal });
    given.abort();
    await expect(waiting.ended).rejects.toThrow('aborted');
    const attached = await caisson.attach(long.runId);
    expect(await caisson.cancel(long.runId)).toBe('asked');
    expect((await attached.ended).status).toBe('cancelled');
    expect((await long.ended).status).toBe('cancelled');
    expect(await caisson.cancel(long.runId)).toBe('ended-already');
    expect(await caisson.runs({ newestFirst: true, limit: 1 })).toMatchObject([{ runId: long.runId }]);
  }, 60_000);

  it('shows the calls that wait for a person, delivers a decision once, and continues a conversation', async () => {
    const key = 'sk-test-key-0123456789';
    const script = [
      { say: 'First this.', tool: { intent: 'run-command' as const, command: 'rm -rf old' } },
      { say: 'Removed.' },
      { say: 'Nothing more.' },
    ];
    const model = await startModelServer({ apiKey: key, script });
    onTestFinished(() => model.stop());
    vi.stubEnv('MODEL_KEY', key);
    const settings = `{ endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: claude-sonnet-4-5 }`;
    const { project, caisson } = await open(over, `runtime: native\nruntimes: { native: ${settings} }\n`);
    project.write('old/file.txt', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'old');
    const run = await caisson.dispatch({ task: 'clean up', mode: 'full-auto' });
    await expect.poll(() => caisson.approvals(), { timeout: 20_000 }).toHaveLength(1);
    const [asked] = await caisson.approvals();
    const approvalId = asked?.approvalId ?? '';
    expect(asked).toMatchObject({ runId: run.runId, status: 'open' });
    expect(await caisson.decide(approvalId, 'allow')).toMatchObject({ approvalId, runId: run.runId });
    await expect(caisson.decide(approvalId, 'deny')).rejects.toMatchObject({ code: 'APPROVAL_CLOSED' });
    expect(await run.ended).toMatchObject({ status: 'done', reply: 'Removed.' });
    expect(await caisson.approvals()).toEqual([]);
    expect((await caisson.approvals({ all: true })).map((one) => one.approvalId)).toEqual([approvalId]);
    expect((await caisson.patch(run.runId)).toString()).toContain('deleted file');
    const next = await caisson.continue(run.runId, 'and now?', { priority: 2 });
    expect(await next.ended).toMatchObject({ status: 'done', reply: 'Nothing more.' });
    expect(await caisson.runs({ ids: [next.runId] })).toMatchObject([{ continues: run.runId, priority: 2 }]);
  }, 60_000);

  it('reports what has changed in the configuration, each change once', async () => {
    const { project, caisson } = await open(over);
    expect(await caisson.checkConfig()).toEqual([]);
    project.write('caisson.yaml', 'limits: { timeout: 10m }\n');
    expect((await caisson.checkConfig()).map(({ key }) => key)).toContain('limits.timeout');
    expect(await caisson.checkConfig()).toEqual([]);
    project.write('caisson.yaml', 'limits: { timeout: soon }\n');
    await expect(caisson.checkConfig()).rejects.toMatchObject({ code: expect.any(String) as string });
  });

  it('starts a detached run, and keeps names, boards and programs', async () => {
    const { project, caisson } = await open(over);
    project.write('agent.yaml', 'runtime: command\nmode: suggest\n');
    await caisson.registry.register('agents', 'reader', join(project.root, 'agent.yaml'));
    expect(await caisson.registry.list('agents')).toMatchObject([{ name: 'reader', version: 1 }]);
    expect(await caisson.registry.get('agents', 'reader')).toMatchObject({
      name: 'reader',
      source: 'registry',
    });
    await caisson.sessions.board('team').write({ key: 'port', value: 1, by: { runId: null } });
    expect(await caisson.sessions.list()).toMatchObject([{ name: 'team', boardKeys: 1 }]);
    expect((await caisson.runtimes()).map(({ name }) => name)).toContain('native');
    const runId = await caisson.dispatchDetached(shell('echo detached'), [
      join(import.meta.dirname, '../../packages/cli/bin/caisson.js'),
    ]);
    const events = await collect(caisson.follow(runId));
    expect(events.at(-1)?.type).toMatch(/^(dispatch\.finished|evidence\.sealed)$/);
  }, 60_000);
});
