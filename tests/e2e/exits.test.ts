/** What a run made leaves it by four exits: the patch, a branch, refs, and the user's own folder. One filter for all. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, ROOT, until, type Project } from './project.ts';

const WORKFLOW = 'mkdir -p .github/workflows; echo "on: push" >.github/workflows/ci.yml; echo x >fine.txt';
const POSTINSTALL = `printf '{"version":"2.0.0","scripts":{"postinstall":"x"}}' >package.json`;
const CI = join('.github', 'workflows', 'ci.yml');

function createPackage(options: Parameters<typeof createProject>[0] = {}): Project {
  const project = createProject(options);
  project.write('package.json', '{"version":"1.0.0"}');
  if (options.git === false) return project;
  project.git('add', '.');
  project.git('commit', '-qm', 'package');
  return project;
}

describe('a change that makes another program run something', () => {
  it('is listed by run, show and diff, refused by apply in a pipe with the exact command, and applied by it', async () => {
    const project = createPackage();
    const result = await project.run('--', 'sh', '-c', `${WORKFLOW}; ${POSTINSTALL}`);
    expect(result.risky?.map(({ path }) => path)).toEqual([CI, 'package.json']);
    const shown = await project.caisson('show', result.runId);
    expect(shown.stdout).toContain(`risky: ${CI} is obeyed by GitHub, for every push`);
    const diff = await project.caisson('diff', result.runId);
    expect(diff.stdout).toContain('+on: push');
    expect(diff.stderr).toContain('package.json changes scripts.postinstall');
    const refused = await project.caisson('apply', result.runId);
    const command = `caisson apply ${result.runId} --allow-risky`;
    expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining(command)]);
    expect(project.git('status', '--short')).toBe('');
    const data = await project.caisson('apply', result.runId, '-o', 'json');
    expect(JSON.parse(data.stdout)).toMatchObject({ kind: 'risky', isRefused: false, next: command });
    const applied = await project.caisson(...command.split(' ').slice(1));
    expect([applied.code, existsSync(join(project.root, CI))]).toEqual([0, true]);
  });

  it('is asked about at a terminal', async () => {
    const project = createPackage();
    const { runId } = await project.run('--', 'sh', '-c', WORKFLOW);
    const line = `'${process.execPath}' '${join(ROOT, 'packages/cli/bin/caisson.js')}' apply ${runId}`;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: project.root,
      env: { ...project.env, TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let screen = '';
    child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString('utf8')));
    await until('the question', () => screen.includes('[y/N]'));
    expect(screen).toContain(CI);
    child.stdin.write('y\n');
    await until('the patch', () => existsSync(join(project.root, CI)));
  });

  it('stops --apply and --branch with exit 4 and a line that gets them, unless it was allowed', async () => {
    const project = createPackage();
    const held = await project.caisson('run', '--apply', '--branch', 'work', '--', 'sh', '-c', WORKFLOW);
    expect(held.code).toBe(4);
    expect(held.stdout).toMatch(/caisson apply run_\w+ --allow-risky/);
    expect(project.git('branch', '--list', 'work')).toBe('');
    const line = /git fetch (\S+ refs\/heads\/work:refs\/heads\/work)/.exec(held.stderr + held.stdout)?.[1];
    project.git('fetch', '-q', ...(line ?? '').split(' '));
    expect(project.git('show', `work:${CI}`)).toBe('on: push\n');
    const options = ['--allow-risky', '--apply', '--branch', 'other'];
    const allowed = await project.caisson('run', ...options, '--', 'sh', '-c', WORKFLOW);
    expect([allowed.code, allowed.stderr]).toEqual([0, expect.not.stringContaining('held back')]);
    expect(project.git('show', `other:${CI}`)).toBe('on: push\n');
    expect(existsSync(join(project.root, CI))).toBe(true);
  });

  it('is put aside in the user’s own folder, and what was there before comes back, unless it was allowed', async () => {
    const project = createPackage({ git: false });
    project.write('.npmrc', 'mine\n');
    const work = `${WORKFLOW}; ${POSTINSTALL}; echo x >>.npmrc`;
    const held = await project.run('--', 'sh', '-c', work);
    expect(held.stderr).toContain('Read-only file system');
    expect(readFileSync(join(project.root, 'package.json'), 'utf8')).toBe('{"version":"1.0.0"}');
    expect(readFileSync(join(project.root, 'package.json.left-out'), 'utf8')).toContain('postinstall');
    expect(readdirSync(join(project.root, '.github'))).toEqual(['workflows.left-out']);
    expect(held.result?.policy.denials.map(({ rule }) => rule)).toEqual([
      'read-only',
      'risky-file',
      'risky-file',
    ]);
    const allowed = await project.run('--allow-risky', '--', 'sh', '-c', work);
    expect(allowed.stderr).toBe('');
    expect(readFileSync(join(project.root, CI), 'utf8')).toBe('on: push\n');
    expect(readFileSync(join(project.root, 'package.json'), 'utf8')).toContain('postinstall');
  });
});

describe('what runs by itself', () => {
  const MAKE =
    'mkdir -p sub/.caisson/tmp "sub/.git " bin; echo x >sub/.caisson/tmp/plan.json; echo x >sub/caisson.yaml; echo x >"sub/.git /config"; ln -s /etc out; ln -s fine.txt inside; echo x >bin/key.sh; echo x >agent.sh; echo x >.githooks/pre-push; echo x >fine.txt';

  it('is in no patch, branch or ref, also where the settings or git name it', async () => {
    const config = [
      'runtimes:',
      '  mine: { bin: ./agent.sh, settings: { protocol: acp } }',
      'network:',
      '  services: { s: { endpoint: "https://s.example", apiKey: "exec:sh bin/key.sh" } }',
      '',
    ].join('\n');
    const project = createProject({ config });
    project.write('.githooks/pre-commit', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'hooks');
    project.git('config', 'core.hooksPath', '.githooks');
    const result = await project.run('--allow-risky', '--branch', 'work', '--', 'sh', '-c', MAKE);
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout.match(/^diff .*$/gm)).toEqual([
      'diff --git a/fine.txt b/fine.txt',
      'diff --git a/inside b/inside',
    ]);
    for (const ref of ['work', `refs/caisson/${result.runId}/1`])
      expect(project.git('diff', '--name-only', 'main', ref)).toBe('fine.txt\ninside\n');
    const file = join(project.root, '.caisson/held-back', `${result.runId}.1.bundle`);
    project.git('fetch', '-q', file, `refs/caisson/${result.runId}/1`);
    expect(project.git('show', 'FETCH_HEAD:sub/.caisson/tmp/plan.json')).toBe('x\n');
    await project.caisson('forget', result.runId);
    expect(existsSync(file)).toBe(false);
  });
});
