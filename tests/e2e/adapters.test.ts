/** Adapters of the user's own that misbehave: the run says which one and where, and is not paid for twice. */
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { createProject, finish, pidsWith, until, type Project } from './project.ts';

const CONFIG = 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n';

function projectWith(parts: {
  command?: string;
  line?: string;
  end?: string;
  inject?: string;
  answer?: string;
}): Project {
  const project = createProject({ config: CONFIG });
  const mark = `sleep 98${process.pid}`;
  project.write(
    'adapter.mjs',
    `export default {
  name: 'mine',
  command: () => { ${parts.command ?? ''}
    return { argv: ['/bin/sh', '-c', 'echo one; echo two; exec ${mark}'], env: {}, files: [], stdin: '', keepsStdinOpen: true }; },
  createStream: () => ({
    line: (text) => { ${parts.line ?? ''} return text === 'two' ? [{ kind: 'concluded' }] : []; },
    end: () => { ${parts.end ?? ''} return { kind: 'answered', reply: 'done' }; },
    inject: (body) => { ${parts.inject ?? ''} return body; },
    answer: (callId, decision) => { ${parts.answer ?? ''} return decision; },
  }),
};\n`,
  );
  return project;
}

it('an adapter that is not there is refused by the name of its setting', async () => {
  const project = createProject({ config: 'runtimes: { mine: { adapter: ./nowhere.mjs } }\n' });
  const { code, stderr } = await project.caisson('run', '--runtime', 'mine', 'do it');
  expect(code).toBe(1);
  expect(stderr).toMatch(/the adapter of mine cannot be read: ENOENT.*runtimes\.mine\.adapter/s);
});

it.each([
  ['a syntax error', 'export default {', /cannot be loaded/],
  ['no driver in it', 'export default {};\n', /must export a driver/],
])('an adapter with %s fails its run before it is called started', async (_what, source, detail) => {
  const project = createProject({ config: CONFIG });
  project.write('adapter.mjs', source);
  const run = await project.run('--runtime', 'mine', 'do it');
  expect(run.failure).toMatchObject({ reason: 'worker-failed', step: 2 });
  expect(run.failure?.detail).toMatch(detail);
  const types = (await project.events(run.runId)).map(({ type }) => type);
  expect(types.filter((type) => type.startsWith('dispatch.'))).toEqual([
    'dispatch.accepted',
    'dispatch.failed',
  ]);
  expect(types).not.toContain('stream.malformed');
});

it('a worker that was never ready is launched before its processes are gone', async () => {
  const project = createProject({ config: CONFIG });
  project.write('adapter.mjs', 'export default {};\n');
  const { runId } = await project.run('--runtime', 'mine', '--branch', 'work', 'do it');
  const types = (await project.events(runId)).map(({ type }) => type);
  const steps = ['dispatch.accepted', 'attempt.launched', 'processes.ended', 'dispatch.failed'];
  expect(types.filter((type) => steps.includes(type))).toEqual(steps);
});

it.each([
  ['line', { line: `if (text === 'two') throw new Error('a bug of mine');` }],
  ['end', { end: `throw new Error('a bug of mine');` }],
  ['command', { command: `throw new Error('a bug of mine');` }],
  ['line', { line: `return Promise.reject(new Error('a bug of mine'));` }],
  ['end', { end: `return Promise.reject(new Error('a bug of mine'));` }],
  ['command', { command: `return Promise.reject(new Error('a bug of mine'));` }],
  ['line', { line: `return [{ kind: 'text' }];` }],
  ['end', { end: `return undefined;` }],
])(
  'an adapter that throws in %s() fails its run, once, with its name (%j)',
  { timeout: 60_000 },
  async (method, parts) => {
    const project = projectWith(parts);
    const run = await project.run('--runtime', 'mine', 'do it');
    expect(run).toMatchObject({
      status: 'error',
      failure: {
        reason: 'worker-failed',
        step: 11,
        detail: expect.stringContaining(`"mine" failed in ${method}()`) as string,
      },
      result: { attempt: 1, status: 'failed' },
    });
    expect(run.failure?.detail).not.toMatch(/\n\s+at /);
    const types = (await project.events(run.runId)).map((event) => event.type);
    expect(types.filter((type) => type === 'attempt.launched')).toHaveLength(1);
    expect(types).not.toContain('runtime.adapter.ran');
    expect(pidsWith(`sleep 98${process.pid}`)).toEqual([]);
  },
);

it('an adapter that throws in inject() fails its run when a message comes', { timeout: 60_000 }, async () => {
  const project = projectWith({ line: 'return [];', inject: `throw new Error('a bug of mine');` });
  await project.trust();
  const ended = finish(project.start('run', '-o', 'json', '--runtime', 'mine', 'do it'));
  await until('the agent', () => pidsWith(`sleep 98${process.pid}`).length > 0);
  expect(await project.caisson('send', 'latest', 'hello')).toMatchObject({ code: 0, stderr: '' });
  const run = JSON.parse((await ended).stdout) as DispatchResult;
  expect(run.failure).toMatchObject({ reason: 'worker-failed', step: 11 });
  expect(run.failure?.detail).toContain('"mine" failed in inject(): a bug of mine');
});

describe('an adapter whose agent asks before a tool call', () => {
  const ASKS = `if (text === 'two') return [{ kind: 'ask', callId: 'c1', tool: 'read', input: { path: 'README.md' } }];`;

  it.each([
    ['a bug of mine', `throw new Error('a bug of mine');`],
    ['it returned undefined, not a line', `return undefined;`],
    ['it returned a promise; it must answer at once', `return Promise.reject(new Error('late'));`],
  ])('fails its run once when answer() fails: %s', { timeout: 60_000 }, async (why, answer) => {
    const project = projectWith({ line: ASKS, answer });
    const run = await project.run('--runtime', 'mine', 'do it');
    expect(run).toMatchObject({
      status: 'error',
      failure: {
        reason: 'worker-failed',
        step: 11,
        detail: `the adapter of the runtime "mine" failed in answer(): ${why}`,
      },
      result: { attempt: 1, status: 'failed' },
    });
    const types = (await project.events(run.runId)).map((event) => event.type);
    expect(types.filter((type) => type === 'attempt.launched')).toHaveLength(1);
    expect(types.filter((type) => type === 'dispatch.failed')).toHaveLength(1);
    expect(pidsWith(`sleep 98${process.pid}`)).toEqual([]);
  });
});

it(
  'what an adapter throws later, without an await, ends the attempt with a result too',
  { timeout: 60_000 },
  async () => {
    const project = projectWith({ line: `setTimeout(() => { throw new Error('a late bug'); }, 50);` });
    const run = await project.run('--runtime', 'mine', 'do it');
    expect(run).toMatchObject({
      status: 'error',
      failure: {
        reason: 'worker-failed',
        step: 11,
        detail: expect.stringMatching(/adapter of the runtime "mine": a late bug/) as string,
      },
      result: { attempt: 1, status: 'failed' },
    });
    expect(pidsWith(`sleep 98${process.pid}`)).toEqual([]);
  },
);

it(
  'a pipeline may run two agents and capture twice: the last capture counts, and both are in the log',
  { timeout: 60_000 },
  async () => {
    const project = createProject({
      config: `pipelines:
  my.twice:
    blocks:
      - { kind: agent }
      - { kind: capture, what: patch }
      - { kind: capture, what: outputs }
      - { kind: agent }
      - { kind: capture, what: patch }
      - { kind: capture, what: outputs }
`,
    });
    const toggle =
      'if [ -e new ]; then echo second; rm new; else echo first; echo 1 > new; fi; mkdir -p outputs; date +%N > outputs/f';
    const run = await project.run('--pipeline', 'my.twice', '--', 'sh', '-c', toggle);
    expect(run).toMatchObject({ status: 'done', stdout: 'first\nsecond\n' });
    expect(run.result?.patchRef).toBeUndefined();
    expect(run.result?.outputs.map((output) => output.path)).toEqual(['outputs/f']);
    expect((await project.caisson('verify', run.runId)).code).toBe(0);
    expect((await project.caisson('logs', run.runId, '--stdout')).stdout).toBe('first\nsecond\n');
  },
);

describe('an adapter is code that runs outside the sandbox', () => {
  const EVIL = 'export default {};';

  it('so no agent in the user’s own folder can write it, move it away, or make one that is declared', async () => {
    const project = createProject({
      git: false,
      config: 'runtimes: { a: { adapter: lib/a.mjs }, b: { adapter: ./b.mjs }, c: { adapter: c.mjs } }\n',
    });
    project.write('lib/a.mjs', 'export default 1;');
    project.write('real.mjs', 'export default 2;');
    symlinkSync('real.mjs', join(project.root, 'c.mjs'));
    const lines = [
      `echo '${EVIL}' > lib/a.mjs`,
      `mv lib gone`,
      `rm -f lib/a.mjs`,
      `echo '${EVIL}' > b.mjs`,
      `echo '${EVIL}' > real.mjs`,
      `rm c.mjs; echo '${EVIL}' > c.mjs`,
    ];
    const run = await project.run('--', 'sh', '-c', `${lines.join('; ')}; true`);
    expect(readFileSync(join(project.root, 'lib/a.mjs'), 'utf8')).toBe('export default 1;');
    expect(readFileSync(join(project.root, 'real.mjs'), 'utf8')).toBe('export default 2;');
    expect(['b.mjs', 'c.mjs'].filter((name) => existsSync(join(project.root, name)))).toEqual([]);
    expect(run.result?.policy.denials.map(({ what }) => what)).toEqual([
      expect.stringContaining('lib/a.mjs: Read-only file system') as string,
      expect.stringContaining('real.mjs: Read-only file system') as string,
      expect.stringContaining('b.mjs is a control file') as string,
      expect.stringContaining('c.mjs is a control file') as string,
      expect.stringContaining('c.mjs is a control file and was left out of the patch') as string,
    ]);
  });

  it('so no patch changes or makes one', async () => {
    const project = createProject({ config: 'runtimes: { a: { adapter: a.mjs }, b: { adapter: b.mjs } }\n' });
    project.write('a.mjs', 'export default 1;');
    const run = await project.run(
      '--',
      'sh',
      '-c',
      `echo '${EVIL}' > a.mjs; echo '${EVIL}' > b.mjs; echo x > fine; true`,
    );
    const { stdout } = await project.caisson('diff', run.runId);
    expect(stdout.match(/^diff .*$/gm)).toEqual(['diff --git a/fine b/fine']);
    expect(run.result?.policy.denials).toContainEqual(
      expect.objectContaining({
        rule: 'control-file',
        what: expect.stringContaining('b.mjs') as string,
      }),
    );
  });

  it('so it is one file: what it would import was not hashed', async () => {
    const project = projectWith({});
    const adapter = readFileSync(join(project.root, 'adapter.mjs'), 'utf8');
    project.write('adapter.mjs', `import './beside.mjs';\n${adapter}`);
    project.write('beside.mjs', 'export {};');
    const run = await project.run('--runtime', 'mine', 'do it');
    expect(run).toMatchObject({ status: 'error', failure: { step: 2 } });
    expect(run.failure?.detail).toMatch(/adapter\.mjs cannot be loaded: .*bundle it/);
    expect(run.failure?.detail).not.toContain('base64');
  });
});
