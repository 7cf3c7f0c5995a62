import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, ROOT } from './project.ts';

it('applies one file of two, keeps the rest as work to take, and one hunk of that later', async () => {
  const project = createProject();
  const numbers = Array.from({ length: 40 }, (_, index) => `${index + 1}`);
  const script = `seq 40 > numbers.txt; echo changed > README.md`;
  const base = await project.run('--', 'sh', '-c', script);
  expect((await project.caisson('apply', base.runId)).code).toBe(0);
  project.git('add', '-A');
  project.git('commit', '-qm', 'base');
  const edit = `sed -i 's/^3$/three/; s/^33$/thirty-three/' numbers.txt; echo again > README.md`;
  const { runId } = await project.run('--', 'sh', '-c', edit);

  const part = await project.caisson('apply', runId, '--file', 'README.md');
  expect(part.stdout).toContain('Applied to 1 file:\n  README.md');
  expect(project.git('status', '--porcelain')).toBe(' M README.md\n');
  expect((await project.caisson('show', runId)).stdout).toContain('applied in part: ');
  const [listed] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as {
    appliedAt?: string;
  }[];
  expect(listed?.appliedAt).toBeUndefined();

  const library = JSON.stringify(join(ROOT, 'packages/cli/dist/index.mjs'));
  const program = `const { createCaisson } = await import(${library});
    const caisson = await createCaisson();
    const only = [{ path: 'numbers.txt', hunks: [1] }];
    console.log(JSON.stringify(await caisson.apply('${runId}', { only })));
    await caisson.close();`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: project.root,
    env: project.env,
  });
  expect(JSON.parse(said.toString())).toEqual({ kind: 'applied', files: ['numbers.txt'] });
  const expected = numbers.map((line) => (line === '33' ? 'thirty-three' : line));
  expect(readFileSync(join(project.root, 'numbers.txt'), 'utf8').trim().split('\n')).toEqual(expected);
  const unknown = await project.caisson('apply', runId, '--file', 'other.txt');
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringContaining('the patch does not change other.txt'),
  ]);
  expect((await project.caisson('verify', runId)).code).toBe(0);
});
