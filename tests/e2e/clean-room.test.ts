/** A check that passed must be about the patch: whatever else an agent left behind has no say in it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

/** Compiles a version without the fault under the time and size of the faulty source, which stays as it is. */
const PLANT_PYC = `
import importlib.util, marshal, os, struct
source = os.stat('calc.py')
code = compile('def add(a, b):\\n    return a + b\\n', 'calc.py', 'exec')
target = importlib.util.cache_from_source('calc.py')
os.makedirs(os.path.dirname(target), exist_ok=True)
with open(target, 'wb') as f:
    f.write(importlib.util.MAGIC_NUMBER + struct.pack('<III', 0, int(source.st_mtime), source.st_size) + marshal.dumps(code))
open('notes.txt', 'w').write('fixed')
`;
const CHECK = 'python3 -c "import calc; assert calc.add(1, 2) == 3"';

function createFaultyProject(config = ''): Project {
  const project = createProject({ config });
  project.write('calc.py', 'def add(a, b):\n    return a - b\n');
  project.write('.gitignore', '__pycache__/\nnode_modules/\nbuild/\n.env\n');
  project.git('add', '.');
  project.git('commit', '-qm', 'faulty');
  return project;
}

const plant = (...options: string[]): string[] => [...options, '--', 'python3', '-c', PLANT_PYC];

describe('a planted .pyc', { timeout: 60_000 }, () => {
  it('passes where the agent worked, and not in the clean room, which is the default', async () => {
    const project = createFaultyProject();
    const weak = await project.run(...plant('--verify', CHECK, '--verify-lens', 'verify'));
    expect(weak.result?.verify).toMatchObject({ passed: true, lens: 'verify' });
    const usual = await project.run(...plant('--verify', CHECK));
    expect(usual.result?.verify).toMatchObject({ passed: false, lens: 'clean-room' });
    expect(usual.result?.blocks.find(({ kind }) => kind === 'script')).toMatchObject({ lens: 'clean-room' });
    const shown = await project.caisson('show', usual.runId);
    expect(shown.stdout).toMatch(/verify: did not pass \(clean-room\)[^]*AssertionError/);
  });

  it('brings nothing into the project with --apply', async () => {
    const project = createFaultyProject();
    const { code, stderr } = await project.caisson('run', ...plant('--apply', '--verify', CHECK));
    expect(code).toBe(1);
    expect(stderr).toContain('Not applied: verify did not pass.');
    expect(stderr).toContain('AssertionError');
    expect(existsSync(join(project.root, 'notes.txt'))).toBe(false);
    const refused = await project.caisson('apply', 'latest');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Its check did not pass')]);
    expect(existsSync(join(project.root, 'notes.txt'))).toBe(false);
    expect((await project.caisson('runs')).stdout).toContain('done, check failed');
    expect((await project.caisson('runs', '--status', 'running')).stdout).toBe(
      'No run has the status running.\n',
    );
    const verified = await project.caisson('verify', 'latest');
    expect([verified.code, verified.stderr]).toEqual([0, expect.stringContaining('its check: did not pass')]);
    expect((await project.caisson('apply', 'latest', '--force')).code).toBe(0);
    expect(existsSync(join(project.root, 'notes.txt'))).toBe(true);
  });

  it('passes a gate, which looks at the workspace, and the record says so', async () => {
    const project = createFaultyProject();
    const gated = await project.run(...plant('--verify', CHECK, '--verify-lens', 'gate'));
    expect(gated.status).toBe('done');
    expect(gated.result?.blocks.find(({ kind }) => kind === 'script')).toMatchObject({ lens: 'gate' });
    expect((await project.caisson('show', gated.runId)).stdout).toContain('checked: passed (gate)');
  });
});

describe('the clean room', { timeout: 60_000 }, () => {
  it("has the user's own ignored folders as the user has them, and setup again, and nothing else of the agent's", async () => {
    const project = createFaultyProject(
      'workspace: { include: [node_modules, .env], setup: "mkdir -p build && cat node_modules/dep >build/made" }\n',
    );
    project.write('node_modules/dep', 'mine\n');
    project.write('.env', 'A=1\n');
    const agent = [
      'echo theirs >node_modules/dep; mkdir -p node_modules/.bin; echo x >node_modules/.bin/tool',
      'echo A=2 >.env; echo theirs >build/made; echo x >build/conftest.py; echo hidden >secret.txt',
      'echo secret.txt >>.git/info/exclude; echo x >~/left; echo x >/var/tmp/left; echo x >/tmp/left',
      'echo x >.caisson/left; mkdir outputs; git tag planted; echo work >work.txt; rm README.md',
    ].join('; ');
    const check = [
      'cat node_modules/dep .env build/made work.txt',
      'ls -A node_modules build ~ .caisson; ls /tmp/left /var/tmp/left',
      'ls README.md outputs 2>/dev/null; git tag; grep secret .git/info/exclude',
      'git status --porcelain --untracked-files=all',
    ].join(' 2>/dev/null; ');
    const run = await project.run('--verify', check, '--', 'sh', '-c', agent);
    expect(run.result?.verify).toMatchObject({ passed: true, lens: 'clean-room' });
    expect(run.result?.verify?.report).toBe(
      [
        ...['mine', 'A=1', 'mine', 'work'],
        ...['.caisson:', '', `${project.env['HOME'] ?? ''}:`, '', 'build:', 'made', ''],
        // What is ignored is decided by the user's rules: what the agent excluded for itself is in the patch.
        ...['node_modules:', 'dep', ' D README.md', '?? secret.txt', '?? work.txt', ''],
      ].join('\n'),
    );
    expect(readFileSync(join(project.root, 'node_modules/dep'), 'utf8')).toBe('mine\n');
    const setups = (await project.events(run.runId)).filter((event) => event['lens'] === 'setup');
    expect(setups.map((event) => event['room'])).toEqual([undefined, 'clean-room']);
  });

  it('shows the last lines of a check that prints more than is kept, and keeps the first', async () => {
    const project = createProject();
    const check = 'echo begins; seq -f "noise %06g" 60000; echo "1 test failed"; exit 1';
    const result = await project.run('--verify', check, '--', 'sh', '-c', 'echo x >new');
    const { report = '' } = result.result?.verify ?? {};
    expect(report).toMatch(/^begins\n(.|\n)*\[… \d+ bytes left out …\](.|\n)*noise 060000\n1 test failed\n$/);
    expect((await project.caisson('show', result.runId)).stdout).toContain('1 test failed');
  });

  it('does not pass where the setup fails with the patch', async () => {
    const project = createFaultyProject(
      'workspace: { setup: "test ! -e broken || { echo no way; exit 4; }" }\n',
    );
    const run = await project.run('--verify', 'true', '--', 'touch', 'broken');
    expect(run.status).toBe('done');
    expect(run.result?.verify).toMatchObject({ passed: false, lens: 'clean-room' });
    expect(run.result?.verify?.report).toContain('no way');
  });

  it('has what capabilities bring, and where the agent changed such a file, the patch', async () => {
    const project = createFaultyProject();
    project.write('tools/files/shared.txt', 'from the capability\n');
    project.write('tools/files/calc.py', 'pass\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'tools');
    expect((await project.caisson('capabilities', 'register', 'tools', 'tools/files')).code).toBe(0);
    const run = await project.run(
      ...[
        '--capability',
        'tools',
        '--verify',
        'cat shared.txt calc.py',
        '--',
        'sh',
        '-c',
        'echo agent >calc.py',
      ],
    );
    expect(run.result?.verify).toMatchObject({ passed: true, report: 'from the capability\nagent\n' });
  });
});

describe('where there is no clean room by default', { timeout: 60_000 }, () => {
  it('a check in place is named as what it is, and warned about', async () => {
    const project = createFaultyProject();
    const run = await project.run('--workspace', 'in-place', ...plant('--verify', CHECK));
    expect(run.result?.verify).toMatchObject({ passed: true, lens: 'verify' });
    const warnings = (await project.events(run.runId)).filter((event) => event.type === 'warning');
    expect(warnings.map((event) => String(event['message']))).toContainEqual(
      expect.stringContaining('--verify-lens clean-room'),
    );
  });

  it.each([true, false])('a clean room that is asked for in place is clean (git: %s)', async (git) => {
    const project = createProject({ git, config: 'workspace: { include: [deps] }\n' });
    project.write('.gitignore', '__pycache__/\ndeps/\n');
    project.write('calc.py', 'def add(a, b):\n    return a - b\n');
    project.write('deps/dep', 'mine\n');
    const agent = `${PLANT_PYC}\nopen('deps/dep', 'w').write('theirs')`;
    const run = await project.run(
      ...['--workspace', 'in-place', '--verify', `cat deps/dep notes.txt; ${CHECK}`],
      ...['--verify-lens', 'clean-room', '--', 'python3', '-c', agent],
    );
    expect(run.result?.verify).toMatchObject({ passed: false, lens: 'clean-room' });
    expect(run.result?.verify?.report).toContain('mine\nfixed');
  });

  it('without a sandbox it is refused when it is asked for, and nothing is applied on a weaker check', async () => {
    const project = createFaultyProject();
    const open = ['--sandbox', 'none', '--network', 'full'];
    const asked = await project.caisson(
      'run',
      ...open,
      '--verify',
      'true',
      '--verify-lens',
      'clean-room',
      '--',
      'true',
    );
    expect(asked.code).toBe(4);
    expect(asked.stderr).toContain('clean room needs the sandbox');
    const applied = await project.caisson('run', ...open, ...plant('--apply', '--verify', CHECK));
    expect(applied.code).toBe(1);
    expect(applied.stderr).toContain('Not applied: verify ran in the workspace of the agent');
    expect(existsSync(join(project.root, 'notes.txt'))).toBe(false);
  });

  it('a lens for which there is no check is refused', async () => {
    const project = createFaultyProject();
    const { code, stderr } = await project.caisson('run', '--verify-lens', 'gate', '--', 'true');
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--verify') });
  });
});
