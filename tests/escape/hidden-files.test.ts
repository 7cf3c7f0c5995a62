/** A file that a rule hides, and that no commit has, is nowhere in the git that the agent reads. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

describe('what a no-access rule hides and git ignores', () => {
  const rules = 'policy: { rules: [{ path: .env, action: no-access, reason: keys }] }\n';
  const unignore = 'rm .gitignore; echo x >work.txt';

  async function expectUnread(project: Project, kind: string): Promise<void> {
    project.write('.gitignore', '.env\n');
    project.git('add', '-A');
    project.git('commit', '-qm', 'ignore');
    const result = await project.run('--workspace', kind, '--', 'sh', '-c', unignore);
    expect(result.status).toBe('done');
    expect(result.result?.policy.denials.map(({ rule }) => rule)).toEqual(['no-access .env']);
    const objects = project.git('cat-file', '--batch-all-objects', '--batch', '--buffer');
    expect(objects).toContain('work.txt');
    expect(objects).not.toContain('HIDDEN');
  }

  it('is in no object when the agent changes what git ignores in the user’s own folder', async () => {
    const project = createProject({ config: rules });
    project.write('.env', 'HIDDEN\n');
    await expectUnread(project, 'in-place');
  });

  it('is in no object when a setup made it and the agent changes what git ignores', async () => {
    const project = createProject({ config: `${rules}workspace: { setup: "printf HID%s DEN >.env" }\n` });
    await expectUnread(project, 'worktree');
  });

  it('is in no object when the agent ends without a result', async () => {
    const project = createProject({ config: rules });
    project.write('.env', 'HIDDEN\n');
    project.write('.gitignore', '.env\n');
    project.git('add', '-A');
    project.git('commit', '-qm', 'ignore');
    const line = `${unignore}; sleep 60`;
    await project.run('--timeout', '3s', '--workspace', 'in-place', '--', 'sh', '-c', line);
    const objects = project.git('cat-file', '--batch-all-objects', '--batch', '--buffer');
    expect(objects).toContain('work.txt');
    expect(objects).not.toContain('HIDDEN');
  });
});

it('what an agent makes under a hidden name is kept beside the patch, and named', async () => {
  const project = createProject({
    config: 'policy: { rules: [{ path: .env, action: no-access, reason: keys }] }\n',
  });
  const { runId, result } = await project.run('--', 'sh', '-c', 'echo made >.env; echo x >work.txt');
  expect(result?.policy.denials.map(({ rule }) => rule)).toEqual(['no-access .env']);
  const { stdout } = await project.caisson('show', runId, '-o', 'json');
  const [, copy = ''] = /"get": ?"(cp -r [^"]*\.env) \."/.exec(stdout) ?? [];
  expect(readFileSync(copy.replace('cp -r ', ''), 'utf8')).toBe('made\n');
});

it.each(['x\xff.key', 'd\xff/y.key'])(
  'a hidden file whose path is not UTF-8 refuses a run in place, unless a rule hides its folder (%j)',
  async (name) => {
    const rule = (path: string): string => `{ path: "${path}", action: no-access, reason: keys }`;
    const project = createProject({ config: `policy: { rules: [${rule('*.key')}] }\n` });
    const at = (path: string): Buffer => Buffer.from(`${project.root}/keys/${path}`, 'latin1');
    mkdirSync(at(name.includes('/') ? 'd\xff' : ''), { recursive: true });
    writeFileSync(at(name), 'HIDDEN\n');
    const read = ['--workspace', 'in-place', '--', 'sh', '-c', 'grep -rs HIDDEN keys; echo end'];
    const refused = await project.run(...read);
    expect([refused.status, refused.stdout]).toEqual(['error', '']);
    expect(refused.failure?.detail).toMatch(/not UTF-8\. Rename it/);
    project.write('caisson.yaml', `policy: { rules: [${rule('*.key')}, ${rule('keys/**')}] }\n`);
    const allowed = await project.run(...read);
    expect([allowed.status, allowed.stdout]).toEqual(['done', 'end\n']);
  },
);

/** What an agent reads of the files themselves, and of every object. */
const READ = 'cat "$@"; git cat-file --batch-all-objects --batch --buffer | grep -a HIDDEN; echo end';

describe('what a no-access rule names by another name than git', () => {
  it.each(['worktree', 'in-place'])(
    'behind a link of the repository is hidden by both (%s)',
    async (kind) => {
      const rules = ['config/secret.key', 'secrets/**', '.env'].map(
        (path) => `    - { path: "${path}", action: no-access, reason: "keys" }\n`,
      );
      const project = createProject({ config: `policy:\n  rules:\n${rules.join('')}` });
      for (const [link, target] of Object.entries({ config: 'conf.d', secrets: 'data', '.env': 'c/real' }))
        symlinkSync(target, join(project.root, link));
      for (const folder of ['conf.d', 'data', 'c']) project.write(`${folder}/keep`, 'keep\n');
      project.git('add', '-A');
      project.git('commit', '-qm', 'links');
      const files = ['conf.d/secret.key', 'data/deep', 'c/real'];
      for (const path of files) project.write(path, 'HIDDEN\n');
      const { stdout } = await project.run('--workspace', kind, '--', 'sh', '-c', READ, 'sh', ...files);
      expect(stdout).toBe('end\n');
    },
    60_000,
  );

  it.each(['worktree', 'in-place'])(
    'above a project in a folder of the repository is hidden by its absolute path (%s)',
    async (kind) => {
      const repository = createProject();
      const at = join(repository.root, 'pkg');
      repository.write('up/key', 'HIDDEN\n');
      repository.write(
        'pkg/caisson.yaml',
        `policy:\n  rules:\n    - { path: "${repository.root}/up/key", action: no-access, reason: "keys" }\n`,
      );
      const project = createProject({ at, env: repository.env });
      const { stdout } = await project.run('--workspace', kind, '--', 'sh', '-c', READ, 'sh', '../up/key');
      expect(stdout).toBe('end\n');
    },
    60_000,
  );
});
