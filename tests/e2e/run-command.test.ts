import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, finish, parseLines, pidsWith, until } from './project.ts';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';

describe('caisson run -- CMD', () => {
  it('runs in a copy of the repo and brings the work back as a patch', async () => {
    const project = createProject();
    project.write('notes.txt', 'not committed\n');
    const result = await project.run(
      '--',
      'sh',
      '-c',
      'cat notes.txt; echo new > b.txt; echo more >> README.md',
    );
    expect(result).toMatchObject({ status: 'done', exitCode: 0, stdout: 'not committed\n', stderr: '' });
    expect(result.cli.code).toBe(0);
    expect(existsSync(join(project.root, 'b.txt'))).toBe(false);
    expect(project.git('status', '--porcelain')).toBe('?? notes.txt\n');
    const applied = await project.caisson('apply', result.runId);
    expect(applied.code).toBe(0);
    expect(readFileSync(join(project.root, 'b.txt'), 'utf8')).toBe('new\n');
    expect(readFileSync(join(project.root, 'README.md'), 'utf8')).toBe('# sample\nmore\n');
  });

  it('keeps what a quick program prints, however long the first look at the workspace takes', async () => {
    const project = createProject({ git: false });
    project.write('caisson.yaml', 'limits: { disk: 100m }\n');
    for (let index = 0; index < 4000; index += 1) project.write(`many/${index}`, '');
    const { stdout } = await project.caisson('run', '-o', 'ndjson', '--', 'echo', 'printed');
    const events = parseLines(stdout);
    expect(events.find((event) => event.type === 'runtime.adapter.ran')).toMatchObject({
      stdout: { bytes: 8, head: 'printed\n' },
    });
    expect(events.map((event) => event.type)).not.toContain('attempt.ended');
  });

  it('publishes its lifecycle in order, numbered without holes', async () => {
    const project = createProject();
    const { stdout } = await project.caisson('run', '-o', 'ndjson', '--', 'true');
    const events = parseLines(stdout).filter((event) => event.seq > 0);
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    const lifecycle = events.map((event) => event.type).filter((type) => type.startsWith('dispatch.'));
    expect(lifecycle).toEqual(['dispatch.accepted', 'dispatch.started', 'dispatch.finished']);
  });

  it('carries the exit code of a command that fails, and fails the shell', async () => {
    const project = createProject();
    const result = await project.run('--', 'sh', '-c', 'echo oops >&2; exit 7');
    expect(result).toMatchObject({
      status: 'error',
      exitCode: 7,
      stderr: 'oops\n',
      failure: { reason: 'provider-failed', cause: 'exit-code', step: 11 },
    });
    expect(result.cli.code).toBe(7);
  });

  it('captures the outputs of a command that fails, and of one that fails and asks', async () => {
    const project = createProject();
    const report = 'mkdir outputs; echo why > outputs/report.txt';
    const failed = await project.run('--', 'sh', '-c', `${report}; exit 7`);
    expect(failed).toMatchObject({ status: 'error', exitCode: 7, failure: { reason: 'provider-failed' } });
    expect(failed.result?.outputs).toMatchObject([{ path: 'outputs/report.txt', size: 4 }]);
    expect((await project.caisson('show', failed.runId)).stdout).toContain('output: outputs/report.txt');
    expect((await project.caisson('verify', failed.runId)).code).toBe(0);
    const asks = `echo '{ "question": "Which?" }' > .caisson/needs_input.json`;
    const asked = await project.run('--', 'sh', '-c', `${report}; ${asks}; exit 7`);
    expect(asked.status).toBe('waiting');
    expect(asked.result?.outputs).toHaveLength(1);
  }, 60_000);

  it('keeps the failure that came first where the outputs cannot be captured', async () => {
    const project = createProject();
    const failed = await project.run(
      '--',
      'sh',
      '-c',
      'mkdir outputs; touch outputs/$(seq -s" outputs/" 300); exit 7',
    );
    expect(failed).toMatchObject({ exitCode: 7, failure: { reason: 'provider-failed', cause: 'exit-code' } });
    const warnings = (await project.events(failed.runId)).filter(({ type }) => type === 'warning');
    expect(warnings).toMatchObject([
      { source: 'outputs', message: expect.stringContaining('300 files') as string },
    ]);
  });

  it('keeps the work of a run that failed', async () => {
    const project = createProject();
    const result = await project.run('--', 'sh', '-c', 'echo half > half.txt; exit 1');
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout).toContain('+half');
    expect(project.git('for-each-ref', '--format=%(refname)', 'refs/caisson')).toContain(result.runId);
  });

  it('ends a command that ignores SIGTERM at its deadline, with everything it started', async () => {
    const project = createProject();
    const mark = `4${Date.now() % 1_000_000}`;
    const result = await project.run(
      '--timeout',
      '1s',
      '--',
      'sh',
      '-c',
      `trap "" TERM; setsid sleep ${mark} & sleep ${mark}`,
    );
    expect(result).toMatchObject({ status: 'timeout', failure: { reason: 'timeout' } });
    expect(result.cli.code).toBe(124);
    expect(pidsWith(`sleep ${mark}`)).toEqual([]);
  }, 20_000);

  it('stops for caisson cancel from another process, and says so with exit code 130', async () => {
    const project = createProject();
    const child = project.start('run', '--', 'sh', '-c', 'echo up; sleep 600');
    const ended = finish(child);
    const run = await until('a running run', async () => {
      const rows = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as {
        runId: string;
        status: string;
      }[];
      return rows.find((row) => row.status === 'running');
    });
    expect((await project.caisson('cancel', run.runId)).code).toBe(0);
    expect((await ended).code).toBe(130);
    const events = await project.events(run.runId);
    expect(events.filter((event) => event.type === 'dispatch.cancelled')).toHaveLength(1);
  }, 20_000);

  it('stops for Ctrl-C and says that it does, without waiting for its grace', async () => {
    const project = createProject({ config: 'limits: { grace: 60s }\n' });
    const child = project.start('run', '--', 'sh', '-c', 'sleep 600; echo a shell waits for its command');
    const ended = finish(child);
    await until('a running run', async () =>
      (await project.caisson('runs', '--status', 'running', '-o', 'json')).stdout.includes('run_'),
    );
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toContain('Stopping');
  }, 20_000);

  it('works in a folder without git, in place, under an exclusive lease', async () => {
    const project = createProject({ git: false });
    project.write('a.txt', 'a\n');
    const result = await project.run('--', 'sh', '-c', 'echo b > b.txt');
    expect(result.status).toBe('done');
    expect(readFileSync(join(project.root, 'b.txt'), 'utf8')).toBe('b\n');
    expect((await project.caisson('diff', result.runId)).stdout).toContain('+b');
  });

  it('keeps two in-place runs apart: the second is refused while the first holds the folder', async () => {
    const project = createProject({ git: false });
    const first = project.start('run', '--', 'sleep', '5');
    const ended = finish(first);
    await until('a running run', async () =>
      (await project.caisson('runs', '--status', 'running', '-o', 'json')).stdout.includes('run_'),
    );
    const second = await project.run('--retries', '0', '--', 'true');
    expect(second.failure?.detail).toMatch(/in use by run_/);
    const elsewhere = await project.run(
      '--state-dir',
      `${project.root}.state`,
      '--retries',
      '0',
      '--',
      'true',
    );
    expect(elsewhere.failure?.detail).toMatch(/in use by run_/);
    first.kill('SIGKILL');
    await ended;
    const after = await project.run('--state-dir', `${project.root}.state`, '--retries', '0', '--', 'true');
    expect(after.status).toBe('done');
  }, 30_000);

  it.each([
    ['an empty .git', (root: string) => mkdirSync(join(root, '.git'))],
    ['a .git that points nowhere', (root: string) => writeFileSync(join(root, '.git'), 'gitdir: ../gone\n')],
  ])('works in place where there is %s', async (_what, make) => {
    const project = createProject({ git: false });
    make(project.root);
    const result = await project.run('--', 'sh', '-c', 'echo b > b.txt');
    expect(result.status).toBe('done');
    expect(readFileSync(join(project.root, 'b.txt'), 'utf8')).toBe('b\n');
  });

  it('passes only the variables that were asked for, and none that loads code', async () => {
    const project = createProject({ env: { SECRET_OF_HOST: 'x', FOO: 'from-host' } });
    const result = await project.run(
      '--env',
      'FOO',
      '--env',
      'BAR=baz',
      '--env',
      'LD_PRELOAD=/x.so',
      '--',
      'env',
    );
    const lines = result.stdout.split('\n');
    expect(lines).toContain('FOO=from-host');
    expect(lines).toContain('BAR=baz');
    expect(result.stdout).not.toContain('SECRET_OF_HOST');
    expect(result.stdout).not.toContain('LD_PRELOAD');
    expect(result.result?.policy.denials[0]?.what).toContain('LD_PRELOAD');
  });

  it('reports verify without failing, and a gate by failing', async () => {
    const project = createProject({
      config:
        'pipelines:\n  my.gated:\n    blocks:\n      - { kind: agent }\n      - { kind: capture, what: patch }\n      - { kind: script, command: "exit 3" }\n',
    });
    const verified = await project.run('--verify', 'echo checked; exit 2', '--', 'true');
    expect(verified).toMatchObject({
      status: 'done',
      result: { verify: { passed: false, report: 'checked\n' } },
    });
    const gated = await project.run('--pipeline', 'my.gated', '--', 'true');
    expect(gated).toMatchObject({ status: 'error', failure: { reason: 'provider-failed', cause: 'gate' } });
  });

  it('checks a patch in a clean room that has nothing else the agent left', async () => {
    const project = createProject({
      config:
        'pipelines:\n  my.room:\n    blocks:\n      - { kind: agent }\n      - { kind: capture, what: patch }\n      - { kind: script, lens: clean-room, command: "cat new.txt && ! test -e junk.o" }\n',
    });
    project.write('.gitignore', '*.o\n');
    const result = await project.run(
      '--pipeline',
      'my.room',
      '--',
      'sh',
      '-c',
      'echo in > new.txt; touch junk.o',
    );
    expect(result.result?.verify).toMatchObject({ passed: true, lens: 'clean-room' });
  });

  it('leaves the workspace read-only in suggest mode', async () => {
    const project = createProject();
    const result = await project.run('--mode', 'suggest', '--', 'sh', '-c', 'echo x > x.txt');
    expect(result.failure?.reason).toBe('provider-failed');
    expect(result.stderr).toMatch(/[Rr]ead-only/);
  });

  it('takes outputs and leaves them out of the patch', async () => {
    const project = createProject();
    const result = await project.run('--', 'sh', '-c', 'mkdir outputs; echo report > outputs/r.txt');
    expect(result.result?.outputs).toMatchObject([{ path: 'outputs/r.txt', size: 7 }]);
    expect(result.result?.patchRef).toBeUndefined();
  });

  it('gives the same run for the same idempotency key', async () => {
    const project = createProject();
    const [first, second] = await Promise.all([
      project.run('--idempotency-key', 'k1', '--', 'sh', '-c', 'echo $CAISSON_RUN_ID'),
      project.run('--idempotency-key', 'k1', '--', 'sh', '-c', 'echo $CAISSON_RUN_ID'),
    ]);
    expect(first.runId).toBe(second.runId);
  });

  it('gives the same run for the same idempotency key in the background too', async () => {
    const project = createProject();
    const detach = () =>
      project.caisson('run', '--detach', '--idempotency-key', 'k1', '--', 'sh', '-c', 'echo once >> f');
    const seen = [...(await Promise.all([detach(), detach()])), await detach()];
    expect(seen.map((cli) => cli.code)).toEqual([0, 0, 0]);
    expect(new Set(seen.map((cli) => cli.stdout))).toHaveLength(1);
    const attached = await project.run('--idempotency-key', 'k1', '--', 'sh', '-c', 'echo once >> f');
    expect(attached).toMatchObject({ runId: seen[0]?.stdout.trim(), status: 'done' });
  });

  it.each([[[]], [['--detach']]])(
    'refuses an idempotency key that belongs to another task %j',
    async (how) => {
      const project = createProject();
      const first = await project.run('--idempotency-key', 'k1', '--', 'true');
      const second = await project.caisson('run', ...how, '--idempotency-key', 'k1', '--', 'echo', 'other');
      expect(second.code).toBe(2);
      expect(second.stderr).toContain(`belongs to ${first.runId}`);
      const logged = openLedger(join(project.root, '.caisson/ledger.db'));
      const [refused] = logged.read({ types: ['task.refused'] });
      expect(refused?.data).toMatchObject({ check: 'idempotency-key', task: 'echo other' });
      await logged.close();
    },
  );

  it('detaches, and the run goes on without the shell', async () => {
    const project = createProject();
    const { stdout, code } = await project.caisson(
      'run',
      '--detach',
      '--',
      'sh',
      '-c',
      'sleep 1; echo later',
    );
    expect(code).toBe(0);
    const runId = stdout.trim();
    expect(runId).toMatch(/^run_[0-9a-z]{20}$/);
    await project.caisson('logs', runId, '-f');
    expect((await project.caisson('logs', runId, '--stdout')).stdout).toBe('later\n');
  });

  it('keeps its state private and out of git', async () => {
    const project = createProject();
    await project.run('--', 'true');
    expect(statSync(join(project.root, '.caisson')).mode & 0o077).toBe(0);
    expect(project.git('status', '--porcelain')).toBe('');
  });

  it.each([
    [['run'], 2, /there is no task/],
    [['run', '--mode', 'yolo', '--', 'true'], 2, /mode/],
    [['run', '--runtime', 'nope', 'x'], 2, /no runtime "nope"/],
    [['run', '--timeout', 'soon', '--', 'true'], 2, /soon/],
    [['show', 'run_00000000000000000000'], 1, /there is no run/],
    [['run', '--runtim', 'x'], 2, /--runtime/],
  ])('refuses %j with exit code %i and a remedy', async (args, code, message) => {
    const project = createProject();
    const cli = await project.caisson(...args);
    expect(cli.code).toBe(code);
    expect(cli.stderr).toMatch(message);
  });

  it('refuses a mode above the ceiling with exit code 4', async () => {
    const project = createProject({ config: 'policy: { ceiling: auto-edit }\n' });
    const cli = await project.caisson('run', '--mode', 'full-auto', '--', 'true');
    expect(cli.code).toBe(4);
    expect(cli.stderr).toMatch(/above the ceiling auto-edit/);
  });
});

describe('limits', () => {
  it.each([
    ['memory', ['--memory', '64m'], 'perl -e \'my $x = "a" x 300_000_000; print length $x\'', 'oom'],
    ['processes', ['--pids', '20'], 'for i in $(seq 60); do sleep 5 & done; wait', 'pids'],
  ])(
    'ends an agent that passes its limit on %s, and says which limit it was',
    async (_name, options, program, cause) => {
      const project = createProject();
      const result = await project.run(...options, '--', 'sh', '-c', program);
      expect(result.failure).toMatchObject({ reason: 'provider-failed', cause });
    },
  );

  it.each([
    ['in its workspace', 'of=big'],
    ['in its mailbox', 'of=.caisson/big'],
    ['in its git dir', 'of=.git/big'],
    ['in a file without a name', '>&3'],
  ])('ends an agent that fills the disk %s past its limit', async (_where, target) => {
    const project = createProject({ config: 'limits: { disk: 5m }\n' });
    const result = await project.run(
      '--',
      'sh',
      '-c',
      `exec 3>f; rm f; dd if=/dev/zero bs=1M count=64 ${target} 2>/dev/null; sleep 30`,
    );
    expect(result.failure).toMatchObject({ reason: 'provider-failed', cause: 'disk' });
  });
});

it.each(['bwrap', 'none'])(
  'lets a script open /dev/stderr and /dev/stdout by name (sandbox %s)',
  async (sandbox) => {
    const project = createProject();
    const result = await project.run(
      '--sandbox',
      sandbox,
      '--',
      'sh',
      '-c',
      'echo out >/dev/stdout; echo err >/dev/stderr',
    );
    expect(result).toMatchObject({ status: 'done', stdout: 'out\n', stderr: 'err\n' });
  },
);

it(
  'durationMs counts from the start of the worker, not from the preparation of its workspace',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    for (let index = 0; index < 3000; index += 1)
      project.write(`many/${index % 50}/${index}.txt`, `${index}\n`);
    const run = await project.run('--', 'true');
    const events = await project.events(run.runId);
    const at = (type: string): number => Date.parse(events.find((event) => event.type === type)?.at ?? '');
    const preparedMs = at('attempt.launched') - at('dispatch.accepted');
    expect(run.durationMs).toBeLessThan(at('dispatch.finished') - at('dispatch.accepted') - preparedMs / 2);
  },
);
