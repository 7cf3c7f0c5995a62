/** A remote with many files. The long form: `CAISSON_REMOTE_FILES=100000 npx vitest run tests/e2e/remote-large.test.ts`. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createBareRemote, type BareRemote } from './bare-remote.ts';
import { createProject } from './project.ts';

const FILES = Number(process.env['CAISSON_REMOTE_FILES'] ?? 1000);
const IN_A_FOLDER = 100;

/** On `main`, in one commit, without a checkout. */
function importFiles({ path }: BareRemote, count: number): void {
  const files = Array.from({ length: count }, (_, index) => {
    const text = `file ${index}\n`;
    return `M 100644 inline f${Math.floor(index / IN_A_FOLDER)}/${index}.txt\ndata ${text.length}\n${text}\n`;
  });
  const head = 'commit refs/heads/main\ncommitter T <t@example.invalid> 1700000000 +0000\ndata 4\nmany\n';
  const input = `${head}from refs/heads/main^0\n${files.join('')}\n`;
  execFileSync('git', ['fast-import', '--quiet'], { cwd: path, input });
}

it(
  `a run on a remote with ${FILES} files changes one of them and pushes it`,
  { timeout: 600_000 },
  async () => {
    const remote = createBareRemote();
    importFiles(remote, FILES);
    const project = createProject({ git: false });
    const script = 'find . -name "*.txt" | wc -l; echo changed >f0/7.txt';
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    for (const branch of ['first', 'second']) {
      const run = await project.run(...options.with(3, branch), '--', 'sh', '-c', script);
      expect([run.cli.code, run.stdout.trim()]).toEqual([0, String(FILES + 1)]);
      expect(run.handoff).toMatchObject({
        filesChanged: ['f0/7.txt'],
        verdict: { patchApplies: true, branchExists: true, pushed: true },
      });
      expect(remote.git('diff', '--name-status', 'main', branch)).toBe('M\tf0/7.txt');
    }
  },
);
