/** A run sees the folders that git ignores and commands need, and can change nothing of the user's own. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, lstatSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

const IGNORED = 'node_modules/\n.env\n.venv/\nvenv/\ntarget/\n.pnp.*\n.yarn/*\n!.yarn/releases\nsecrets/\n';

function createIgnoring(
  files: Readonly<Record<string, string>>,
  ignored: Readonly<Record<string, string>>,
): Project {
  const project = createProject();
  for (const [path, content] of Object.entries({ '.gitignore': IGNORED, ...files }))
    project.write(path, content);
  project.git('add', '.');
  project.git('commit', '-qm', 'project');
  for (const [path, content] of Object.entries(ignored)) project.write(path, content);
  return project;
}

/** Every file of the packages with its mode, time of change and content. */
function snapshot(project: Project): string[] {
  return ['node_modules', 'packages/app/node_modules']
    .flatMap((name) => readdirSync(join(project.root, name), { recursive: true, withFileTypes: true }))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const { mode, ctimeMs } = lstatSync(path);
      return `${path} ${mode} ${ctimeMs} ${entry.isFile() ? readFileSync(path, 'utf8') : ''}`;
    })
    .toSorted();
}

/** npm with workspaces that link to each other, as `npm install` leaves them; one package has packages of its own. */
function createWorkspaces(): Project {
  const project = createIgnoring(
    {
      'package.json':
        '{"name":"all","workspaces":["packages/*"],"scripts":{"test":"node packages/app/test.js"}}',
      'packages/app/package.json': '{"name":"app","dependencies":{"lib":"*","dep":"*","own":"*"}}',
      'packages/app/test.js': "console.log(require('lib') + require('dep') + require('own'))",
      'packages/lib/package.json': '{"name":"lib","main":"lib.js"}',
      'packages/lib/lib.js': 'module.exports = 40',
    },
    {
      'node_modules/.store/dep@1/node_modules/dep/index.js': 'module.exports = 1',
      'packages/app/node_modules/own/index.js': 'module.exports = 1',
      '.env': 'TOKEN=of-the-user',
    },
  );
  symlinkSync('../packages/lib', join(project.root, 'node_modules/lib'));
  symlinkSync('.store/dep@1/node_modules/dep', join(project.root, 'node_modules/dep'));
  return project;
}

const VANDAL = [
  "set -e; cd node_modules; echo 'module.exports = 100' > .store/dep@1/node_modules/dep/index.js; rm lib; touch new",
  'mv .store moved; chmod 0700 moved; rm -r ../packages/app/node_modules/own; echo 2 > ../packages/lib/more.js',
].join('; ');

describe('ignored folders', { timeout: 120_000 }, () => {
  it('are there for npm test and for the clean room, shown, and never written through to the user', async () => {
    const project = createWorkspaces();
    const before = snapshot(project);
    const seen = await project.caisson('run', '--', 'npm', 'test');
    expect(seen).toMatchObject({ code: 0, stdout: expect.stringContaining('42\n') });
    expect(seen.stderr).toContain('brought along: node_modules, packages/app/node_modules\n');

    const changed = await project.run('--verify', 'npm test', '--', 'sh', '-c', VANDAL);
    expect(changed.result?.verify).toMatchObject({ passed: true, lens: 'clean-room' });
    const lens = ['--verify-lens', 'verify'];
    const unclean = await project.run('--verify', 'npm test', ...lens, '--', 'sh', '-c', VANDAL);
    expect(unclean.result?.verify).toMatchObject({ passed: false });
    const { stdout: patch } = await project.caisson('diff', changed.runId);
    expect(patch.match(/^diff --git .*/gm)).toEqual([
      'diff --git a/packages/lib/more.js b/packages/lib/more.js',
    ]);
    expect(snapshot(project)).toEqual(before);

    const shown = await project.caisson('show', changed.runId);
    expect(shown.stdout).toContain('workspace.brought node_modules, packages/app/node_modules');
    expect(readdirSync(join(project.root, '.caisson/runtime/layers'))).toEqual([]);
  });

  it('of a user file come only when they are named, and a link is never followed', async () => {
    const project = createWorkspaces();
    mkdirSync(join(project.root, 'packages/web'));
    project.write('packages/web/package.json', '{}');
    project.write('../home/keys/id', 'key-of-the-user');
    symlinkSync('../../../home/keys', join(project.root, 'packages/web/node_modules'));
    project.write('secrets/key', 'k');
    const script = ['sh', '-c', 'cat .env secrets/key packages/web/node_modules/id; true'];
    const usual = await project.caisson('run', '--', ...script);
    expect(usual.stdout).not.toMatch(/of-the-user/);
    expect(usual.stderr).toContain(
      'packages/web/node_modules is a link, or is behind one, and was not brought',
    );
    const named = await project.caisson('run', '--bring', '.env', '--bring', 'secrets', '--', ...script);
    expect(named.stdout).toContain('TOKEN=of-the-user');
    expect(named.stderr).toContain('brought along: secrets, node_modules, packages/app/node_modules');
    for (const [why, ...args] of [
      ['is not inside the repository', '--bring', '../home'],
      ['does not exist', '--bring', 'absent'],
      ['is a link, or is behind one', '--bring', 'packages/web/node_modules'],
      ['needs a sandbox', '--sandbox', 'none', '--bring', 'secrets'],
      ['only a worktree', '--workspace', 'in-place', '--bring', '.env'],
      ['only a worktree', '--workspace', 'empty', '--bring', '.env'],
    ])
      expect(await project.caisson('run', ...args, '--', 'true')).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(`${why}.*\\(check: brought-there\\)`) as string,
      });
    const open = await project.caisson('run', '--sandbox', 'none', '--bring', '.env', '--', 'cat', '.env');
    expect(open.stdout).toContain('TOKEN=of-the-user');
    project.write('caisson.yaml', 'workspace: { detect: false }\n');
    expect((await project.caisson('run', '--', 'ls', 'node_modules')).code).not.toBe(0);
  });

  it('of Python, Rust and Yarn come with their files, and caches of HOME with their tool', async () => {
    const project = createIgnoring(
      {
        'package.json': '{"name":"pnp"}',
        'services/api/pyproject.toml': '',
        'engine/Cargo.toml': '',
        'java/pom.xml': '',
        '.yarn/releases/yarn.cjs': '',
      },
      {
        '.pnp.cjs': 'module.exports = "pnp"',
        '.yarn/cache/dep.zip': 'zip',
        'engine/target/debug/app': 'built',
        'services/target/mine': 'no tool needs it',
      },
    );
    const home = project.env['HOME'] ?? '';
    execFileSync('/usr/bin/python3', [
      '-m',
      'venv',
      '--without-pip',
      join(project.root, 'services/api/.venv'),
    ]);
    const python = join(home, '.local/share/uv/python/cpython-3.12/bin');
    for (const folder of ['.m2/repository/org', '.cargo/registry/cache', '.ssh', '.cache/node/corepack/v1'])
      mkdirSync(join(home, folder), { recursive: true });
    project.write('../home/.yarn/berry/cache/dep.zip', 'zip of HOME');
    project.write('../home/.yarn/berry/index/private', 'no tool needs it');
    project.write('../home/.cargo/git/db/dep-1/FETCH_HEAD', "'HEAD' of https://example.invalid/dep\n");
    // A virtual environment of uv: its Python is linked, and PATH does not lead there.
    mkdirSync(python, { recursive: true });
    symlinkSync('/usr/bin/python3', join(python, 'python3.12'));
    mkdirSync(join(project.root, 'services/api/venv/bin'), { recursive: true });
    project.write('services/api/venv/pyvenv.cfg', `home = ${python}\nuv = 0.8.0\n`);
    symlinkSync(join(python, 'python3.12'), join(project.root, 'services/api/venv/bin/python'));
    chmodSync(join(home, '.m2/repository'), 0o755);
    const script = [
      'set -e; services/api/.venv/bin/python -c "import sys; print(sys.prefix)"; node -p "require(\'./.pnp.cjs\')"',
      'cat .yarn/cache/dep.zip engine/target/debug/app; echo; ls services; ls -A ~; touch ~/.m2/repository/org/new',
      'services/api/venv/bin/python -c "print(6 * 7)"; cat ~/.yarn/berry/cache/*; ls ~/.yarn/berry ~/.cargo/git/db ~/.cache/node',
    ].join('; ');
    const { code, stdout, stderr } = await project.caisson('run', '--', 'sh', '-c', script);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toContain(
      `${project.root}/services/api/.venv\npnp\nzipbuilt\napi\n.cache\n.cargo\n.local\n.m2\n.yarn\n42\n`,
    );
    expect(stdout).toMatch(/zip of HOME.*:\ncorepack\n\n.*:\ndep-1\n\n.*:\ncache\n/s);
    expect(stderr).toContain(
      '~/.cargo/git/db, ~/.m2/repository, ~/.yarn/berry/cache, ~/.cache/node/corepack, ~/.local/share/uv/python\n',
    );
    expect(readdirSync(join(home, '.m2/repository/org'))).toEqual([]);
    project.write('../home/.cargo/git/db/dep-2/FETCH_HEAD', "'HEAD' of https://me:key@example.invalid/dep\n");
    const without = await project.caisson('run', '--', 'sh', '-c', '! ls ~/.cargo/git/db');
    expect([without.code, without.stderr]).toEqual([
      0,
      expect.stringContaining('~/.cargo/git/db has addresses with passwords, and was not brought'),
    ]);
  });

  it('of a large monorepo come with the caches of a HOME behind a link, and what is left out is named', async () => {
    const names = Array.from({ length: 520 }, (_, index) => `packages/p${index}`);
    const project = createIgnoring(
      Object.fromEntries([['go.mod', ''], ...names.map((name) => [`${name}/package.json`, '{}'])]),
      Object.fromEntries(names.map((name) => [`${name}/node_modules/dep.js`, name])),
    );
    const home = project.env['HOME'] ?? '';
    renameSync(home, `${home}-real`);
    symlinkSync(`${home}-real`, home);
    mkdirSync(join(home, '.cache/go-build/00'), { recursive: true });
    mkdirSync(join(home, 'go/pkg'), { recursive: true });
    symlinkSync('/usr', join(home, 'go/pkg/mod'));
    const script =
      'ls packages/*/node_modules/dep.js | wc -l; ls ~/.cache/go-build; touch ~/.cache/go-build/new packages/p9/node_modules/x';
    const { code, stdout, stderr } = await project.caisson('run', '--', 'sh', '-c', script);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^511\n00\n/)]);
    expect(stderr).toContain('9 more folders were not brought, because at most 512 are: packages/p');
    expect(stderr).toContain('~/go/pkg/mod is a link, or is behind one, and was not brought');
    expect(readdirSync(join(home, '.cache/go-build'))).toEqual(['00']);
  });

  it('with a file that a rule hides keep it hidden from the agent, and so are keys and forbidden caches', async () => {
    const project = createWorkspaces();
    project.write('pom.xml', '');
    project.write('node_modules/.npmrc', 'key of npm');
    project.write('../home/.m2/repository/org/private', 'key of maven');
    project.write('../home/.m2/wrapper/tool', 'wrapped\n');
    const home = project.env['HOME'] ?? '';
    renameSync(home, `${home}-real`);
    symlinkSync(`${home}-real`, home);
    project.write('node_modules/.store/dep@1/secret.pem', 'key');
    project.write(
      'caisson.yaml',
      `policy:
  rules:
    - { path: "*.pem", action: no-access, reason: private }
    - { path: "~/.m2/repository/org/**", action: no-access, reason: private }
`,
    );
    const script =
      'npm test; cat node_modules/.store/dep@1/*.pem node_modules/.npmrc; cat ~/.m2/*/org/* ~/.m2/*/tool; touch node_modules/new && echo written';
    const { stdout, stderr } = await project.caisson('run', '--', 'sh', '-c', script);
    expect(stdout).toContain('42\n');
    expect(stdout).toContain('wrapped\nwritten\n');
    expect(stderr).not.toContain('read-only');
    expect(stderr).toMatch(/not brought, because a no-access rule is about it: \S+\/\.m2\/repository/);
    expect(stdout).not.toContain('key');
  });
});
