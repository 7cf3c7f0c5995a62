/** A file that a rule hides, and that no commit has, is nowhere in the git that the agent reads. */
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';

const CONFIG = `workspace:
  setup: "printf HID%s DEN >made.pem"
policy:
  rules:
    - { path: "*.pem", action: no-access, reason: "keys" }
    - { path: "secrets/**", action: no-access, reason: "not for agents" }
    - { path: "config/prod.env", action: no-access, reason: "not for agents" }
`;

/** Everything that git can print: the index, and every object of every store it borrows from. */
const READ_ALL = `for f in deep/a.pem secrets/key config/prod.env lib/c.pem mod/d.pem made.pem; do git show ":$f"; done
git cat-file --batch-all-objects --batch --buffer | grep -a HIDDEN
git ls-files | grep -E "pem|secrets"
grep -rs HIDDEN . --exclude-dir=.git
echo x >>work.txt; echo end`;

function createKeyProject(): Project {
  const project = createProject({ config: CONFIG });
  const { git, write } = project;
  write('config/prod.env', 'KEY=none\n');
  write('.gitignore', '!*.pem\n');
  for (const name of ['lib', 'upstream']) {
    git('init', '-q', name);
    write(`${name}/code.txt`, 'code\n');
    git('-C', name, 'add', '.');
    git('-C', name, 'commit', '-qm', 'code');
  }
  git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', './upstream', 'mod');
  git('add', 'config', '.gitignore', 'caisson.yaml');
  git('commit', '-qm', 'files');
  write('config/prod.env', 'KEY=HIDDEN\n');
  for (const path of ['deep/a.pem', 'secrets/key', 'lib/c.pem', 'mod/d.pem']) write(path, `HIDDEN ${path}\n`);
  return project;
}

describe('what a no-access rule hides and no commit has', () => {
  it.each(['worktree', 'in-place'])(
    'is in no index and in no object, in this run or the next (%s)',
    async (kind) => {
      const project = createKeyProject();
      for (const _ of ['first', 'second']) {
        const result = await project.run('--workspace', kind, '--', 'sh', '-c', READ_ALL);
        expect([result.status, result.stdout]).toEqual(['done', 'KEY=none\nend\n']);
        expect(result.result?.policy.denials).toEqual([]);
        const { stdout } = await project.caisson('diff', result.runId);
        expect(stdout.match(/^diff .*$/gm)).toEqual(['diff --git a/work.txt b/work.txt']);
      }
      const objects = project.git('cat-file', '--batch-all-objects', '--batch', '--buffer');
      expect(objects).not.toContain('HIDDEN');
    },
    60_000,
  );
});
