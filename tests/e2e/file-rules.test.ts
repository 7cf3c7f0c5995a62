/** Rules about files are held by the kernel and by the patch, also where no gate asks: this is a plain command. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject } from './project.ts';

const RULES = `policy:
  rules:
    - { path: "secrets/**", action: no-access, reason: "not for agents" }
    - { path: "*.pem", action: no-access, reason: "keys" }
    - { path: "docs/**", action: read-only, reason: "written by people" }
    - { path: "docs/draft.md", action: no-access, reason: "not ready" }
    - { path: "keep.txt", action: no-delete, reason: "kept" }
`;

function createRuledProject() {
  const project = createProject({ config: RULES });
  for (const path of ['secrets/key', 'deep/er/host.pem', 'docs/draft.md']) project.write(path, 'HIDDEN\n');
  for (const path of ['docs/guide.md', 'keep.txt']) project.write(path, 'shown\n');
  project.git('add', '-A');
  project.git('commit', '-qm', 'files');
  return project;
}

describe('rules about files', () => {
  it.each(['suggest', 'auto-edit'])(
    'hides what is no-access and keeps what is read-only in mode %s',
    async (mode) => {
      const project = createRuledProject();
      const result = await project.run(
        '--mode',
        mode,
        '--',
        'sh',
        '-c',
        'grep -rs HIDDEN . --exclude-dir=.git; cat docs/guide.md; mv docs d; mv deep e; mv secrets s; rm -rf docs secrets; echo x >> docs/guide.md; cat docs/guide.md',
      );
      expect(result.stdout).toBe('shown\nshown\n');
      expect(result.result?.patchRef).toBeUndefined();
    },
  );

  it('leaves out of the patch what a rule forbids, and says so', async () => {
    const project = createRuledProject();
    const result = await project.run('--', 'sh', '-c', 'rm keep.txt; echo x > new.pem; echo x > fine.txt');
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout.match(/^diff .*$/gm)).toEqual(['diff --git a/fine.txt b/fine.txt']);
    expect(result.result?.policy.denials.map(({ rule }) => rule)).toEqual([
      'no-delete keep.txt',
      'no-access *.pem',
    ]);
  });
});

it('hold for a place in the project that is named by its absolute path, or from the project itself', async () => {
  const project = createProject();
  const rule = (path: string): string => `{ path: "${path}", action: no-access, reason: "hidden" }`;
  const paths = [`${project.root}/absolute/**`, `${project.root}/one.txt`, './two.txt'];
  project.write('caisson.yaml', `policy: { rules: [${paths.map(rule).join(', ')}] }\n`);
  for (const path of ['absolute/key', 'one.txt', 'two.txt']) project.write(path, 'HIDDEN\n');
  for (const path of ['deep/one.txt', 'deep/two.txt']) project.write(path, 'shown\n');
  const result = await project.run('--', 'sh', '-c', 'cat absolute/* *.txt deep/*.txt; echo x >absolute/new');
  expect(result.stdout).toBe('shown\nshown\n');
  expect(result.result?.patchRef).toBeUndefined();
});

it('hold for names in any folder of the repository, also where the project is a subfolder', async () => {
  const repository = createProject();
  repository.write('sub/caisson.yaml', 'mode: auto-edit\n');
  const hidden = ['top.key', 'other/deep.key', 'other/a.pem', 'other/sub/x', 'sub/z.key', 'sub/only/a.txt'];
  for (const path of hidden) repository.write(path, 'HIDDEN\n');
  for (const path of ['only/a.txt', 'sub/own']) repository.write(path, 'shown\n');
  const project = createProject({ at: join(repository.root, 'sub') });
  const rules = ['*.key', '**/*.pem', 'sub', 'only/*.txt'].map(
    (path) => `{ path: "${path}", action: no-access, reason: "mine" }`,
  );
  const own = join(project.env['HOME'] ?? '', '.config/caisson/config.yaml');
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, `policy: { rules: [${rules.join(', ')}] }\n`);
  const read = 'grep -rshE "HIDDEN|shown" .. --exclude-dir=.git; echo end';
  expect((await project.run('--', 'sh', '-c', read)).stdout).toBe('shown\nshown\nend\n');
});

describe('no-access rules that name many files', () => {
  const rule = (path: string): string => `{ path: "${path}", action: no-access, reason: "keys" }`;
  const inPlace = ['--workspace', 'in-place', '--', 'sh', '-c'];

  it('hide a folder as a whole that has nothing else, and the others one by one', async () => {
    const project = createProject({ config: `policy: { rules: [${rule('*.key')}] }\n` });
    for (let decoy = 0; decoy < 700; decoy += 1) project.write(`aaa/${decoy % 2}/${decoy}.key`, 'HIDDEN\n');
    project.write('zzz/real.key', 'HIDDEN\n');
    project.write('zzz/shown', 'shown\n');
    const read = 'grep -rshE "HIDDEN|shown" . --exclude-dir=.git; ls aaa | wc -l; echo x >zzz/new';
    const result = await project.run(...inPlace, read);
    expect([result.status, result.stdout]).toEqual(['done', 'shown\n0\n']);
  }, 30_000);

  it('refuse the run where they are too many beside other files, with the rule that helps', async () => {
    const project = createProject({ config: `policy: { rules: [${rule('*.key')}] }\n` });
    for (let decoy = 0; decoy < 520; decoy += 1) project.write(`aaa/${decoy}.key`, 'decoy\n');
    project.write('aaa/other', 'other\n');
    project.write('zzz/real.key', 'HIDDEN\n');
    const refused = await project.run(...inPlace, 'cat zzz/real.key');
    expect([refused.status, refused.stdout]).toEqual(['error', '']);
    const detail = refused.failure?.detail ?? '';
    expect(detail).toMatch(/name 521 paths.*at most 512\. 520 of them are in \S+\/aaa, beside other files/s);
    const [, path = ''] = /path: "([^"]+)"/.exec(detail) ?? [];
    project.write('caisson.yaml', `policy: { rules: [${rule('*.key')}, ${rule(path)}] }\n`);
    const allowed = await project.run(...inPlace, 'cat aaa/* zzz/*; echo ran');
    expect([allowed.status, allowed.stdout]).toEqual(['done', 'ran\n']);
  }, 30_000);
});

describe('control files that are there below the top', () => {
  const WRITE =
    'for f in sub/.claude/settings.json sub/deep/caisson.yaml lib/.git/config; do echo x >>$f; done';

  it.each(['worktree', 'in-place'])('cannot be written (%s)', async (kind) => {
    const project = createProject();
    project.write('sub/.claude/settings.json', '{}\n');
    project.write('sub/deep/caisson.yaml', 'mode: suggest\n');
    project.git('init', '-q', 'lib');
    project.write('lib/code.txt', 'one\n');
    const before = readFileSync(join(project.root, 'lib/.git/config'), 'utf8');
    const result = await project.run(
      '--workspace',
      kind,
      '--',
      'sh',
      '-c',
      `${WRITE}; echo two >lib/code.txt; echo x >sub/new`,
    );
    expect(result.status).toBe('done');
    expect(result.stderr.match(/Read-only file system/g)).toHaveLength(kind === 'in-place' ? 3 : 2);
    expect(readFileSync(join(project.root, 'lib/.git/config'), 'utf8')).toBe(before);
    expect(readFileSync(join(project.root, 'sub/.claude/settings.json'), 'utf8')).toBe('{}\n');
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout.match(/^diff .*$/gm)).toEqual([
      'diff --git a/lib/code.txt b/lib/code.txt',
      'diff --git a/sub/new b/sub/new',
    ]);
  });

  it('do not keep their folder from being moved in a worktree, and do keep it in place', async () => {
    const project = createProject();
    project.write('sub/.envrc', 'x\n');
    project.write('sub/a.txt', 'a\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'sub');
    const moved = await project.run('--', 'sh', '-c', 'mv sub other');
    expect(moved.status).toBe('done');
    const held = await project.run('--workspace', 'in-place', '--', 'sh', '-c', 'mv sub other');
    expect(held.stderr).toMatch(/busy/);
  });
});

describe('control files that an agent makes', () => {
  it('are left out of the patch in other spellings, and where a folder is a repository in disguise', async () => {
    const project = createProject();
    const result = await project.run(
      '--',
      'sh',
      '-c',
      'mkdir -p .Claude docs/objects/a docs/refs/a plain; echo {} >.Claude/Settings.json; echo x >docs/objects/a/b; echo x >docs/refs/a/b; echo "ref: refs/heads/m" >docs/HEAD; printf "[core]\\nfsmonitor = touch x\\n" >docs/config; echo x >plain/config',
    );
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout.match(/^diff .*$/gm)).toEqual([
      'diff --git a/docs/HEAD b/docs/HEAD',
      'diff --git a/docs/objects/a/b b/docs/objects/a/b',
      'diff --git a/docs/refs/a/b b/docs/refs/a/b',
      'diff --git a/plain/config b/plain/config',
    ]);
  });

  it('are left out of the patch at any depth, behind links and in nested repositories', async () => {
    const project = createProject();
    const result = await project.run(
      '--',
      'sh',
      '-c',
      'mkdir -p evil sub/.claude; echo {} > evil/settings.json; ln -s evil .claude; echo {} > sub/.claude/settings.json; echo x > sub/caisson.yaml; git init -q nest; echo {} > nest/.mcp.json; echo x > nest/fine.txt',
    );
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout.match(/^diff .*$/gm)).toEqual(['diff --git a/nest/fine.txt b/nest/fine.txt']);
    expect(result.result?.policy.denials.map(({ what }) => what.split(' ')[0]).toSorted()).toEqual([
      '.claude',
      'evil/settings.json',
      'nest/.mcp.json',
      'sub/.claude/settings.json',
      'sub/caisson.yaml',
    ]);
  });
});

it.each([
  ['fails', 'exit 3'],
  ['is ended by its deadline', 'sleep 60'],
])('an agent that %s gets no forbidden change into the patch either', async (_how, end) => {
  const project = createRuledProject();
  const { runId } = await project.run(
    '--timeout',
    '3s',
    '--',
    'sh',
    '-c',
    `echo {} > .mcp.json; rm keep.txt; echo x > new.pem; echo x > fine.txt; ${end}`,
  );
  const { stdout } = await project.caisson('diff', runId);
  expect(stdout.match(/^diff .*$/gm)).toEqual(['diff --git a/fine.txt b/fine.txt']);
});

describe('control files in the user’s own folder', () => {
  it('are put aside when an agent made them, however it ended, also when git ignores them', async () => {
    const project = createProject({ git: false });
    project.write('.gitignore', '.envrc\n');
    const result = await project.run(
      '--',
      'sh',
      '-c',
      'echo "runtimes: {}" > caisson.yaml; echo x > .envrc; mkdir sub; echo {} > sub/.mcp.json; echo x > fine; exit 3',
    );
    expect(result.exitCode).toBe(3);
    expect(
      readdirSync(project.root)
        .filter((name) => name !== '.caisson')
        .toSorted(),
    ).toEqual(['.envrc.left-out', '.gitignore', 'caisson.yaml.left-out', 'fine', 'sub']);
    expect(result.result?.policy.denials.map(({ rule }) => rule)).toContain('control-file');
  });

  it('are put aside in folders below also when the agent has git ignore them', async () => {
    const project = createProject({ git: false });
    project.write('old/.mcp.json', '{}\n');
    const result = await project.run(
      '--',
      'sh',
      '-c',
      'mkdir -p sub/.claude .Claude evil; echo "*" >sub/.gitignore; echo {} >sub/.claude/settings.json; echo {} >.Claude/settings.json; echo {} >evil/settings.json; ln -s ../evil sub/.cursor; echo x >old/new',
    );
    const { root } = project;
    expect(readdirSync(join(root, 'sub/.claude'))).toEqual(['settings.json.left-out']);
    expect(readdirSync(join(root, 'sub')).toSorted()).toEqual(['.claude', '.cursor.left-out', '.gitignore']);
    expect(readdirSync(join(root, '.Claude'))).toEqual(['settings.json.left-out']);
    expect(readdirSync(join(root, 'old')).toSorted()).toEqual(['.mcp.json', 'new']);
    expect(result.result?.policy.denials).toHaveLength(3);
  });

  it('are looked for in folders nested deeper than any name reaches, which do not fail the next run', async () => {
    const config = 'policy:\n  rules:\n    - { path: "*.pem", action: no-access, reason: keys }\n';
    const project = createProject({ git: false, config });
    const nest = 'for (1..200) { mkdir "d" x 50; chdir "d" x 50 } open F, ">", ".envrc"';
    expect((await project.run('--', 'perl', '-e', nest)).status).toBe('done');
    expect((await project.run('--', 'true')).status).toBe('done');
  });

  it('are put aside when they are repositories that make git run a program, and only then', async () => {
    const project = createProject({ git: false });
    project.git('init', '-q', 'old');
    const result = await project.run(
      '--',
      'sh',
      '-c',
      `set -e
      git init -q .; git config core.fsmonitor "touch x"
      git init -q hooked; echo x >hooked/.git/hooks/pre-commit
      git init -q fine; git -C fine remote add origin https://a.example/b.git
      mkdir link bare; echo "gitdir: ../bare" >link/.git
      mkdir bare/objects bare/refs; echo "ref: refs/heads/m" >bare/HEAD; printf "[core]\nfsmonitor = touch x\n" >bare/config
      echo x >old/.git/commondir`,
    );
    expect(result.status).toBe('done');
    expect(result.result?.policy.denials.map(({ what }) => what.split(' ')[0]).toSorted()).toEqual([
      '.git/config',
      'bare/config',
      'hooked/.git/hooks',
      'link/.git',
      'old/.git/commondir',
    ]);
    const { root } = project;
    expect(existsSync(join(root, '.git/config'))).toBe(false);
    expect(project.git('status', '--short')).toContain('fine');
    expect(existsSync(join(root, 'fine/.git/config'))).toBe(true);
    expect(existsSync(join(root, 'old/.git/config'))).toBe(true);
    expect(existsSync(join(root, 'hooked/.git/hooks.left-out/pre-commit'))).toBe(true);
  });

  it('are each put aside once, also where a repository has another name and its hooks are called like an agent’s', async () => {
    const project = createProject({ git: false });
    const result = await project.run(
      '--',
      'sh',
      '-c',
      `mkdir -p evil/objects evil/refs evil/hooks later; echo "ref: refs/heads/m" >evil/HEAD
      echo x >evil/hooks/pre-commit; ln -s ../x evil/config; echo {} >later/.mcp.json`,
    );
    expect(result.status).toBe('done');
    expect(result.result?.policy.denials.map(({ what }) => what.split(' ')[0]).toSorted()).toEqual([
      'evil/config',
      'evil/hooks',
      'later/.mcp.json',
    ]);
  });

  it('are put aside in a repository that was a folder of the user’s before', async () => {
    const project = createProject({ git: false });
    project.write('old/notes.txt', 'x\n');
    await project.run(
      '--',
      'sh',
      '-c',
      `mkdir sub; mv old sub/.git; cd sub/.git; mkdir objects refs; echo "ref: refs/heads/m" >HEAD
      printf "[core]\nfsmonitor = touch x\n" >config`,
    );
    expect(readdirSync(join(project.root, 'sub/.git'))).toContain('config.left-out');
  });

  it('are put aside in the repositories of submodules one by one, and the user’s own stay where they are', async () => {
    const project = createProject({ git: false });
    const { root, git } = project;
    for (const name of ['lib', 'app']) git('init', '-q', name);
    git('-C', 'lib', 'commit', '-q', '--allow-empty', '-m', 'x');
    for (const name of ['mine', 'deep/other'])
      git('-C', 'app', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../lib', name);
    const result = await project.run(
      '--',
      'sh',
      '-c',
      `cd app/.git/modules; git init -q --bare planted; echo x >planted/hooks/pre-commit
      git config -f deep/other/config core.fsmonitor "touch x"`,
    );
    expect(result.result?.policy.denials.map(({ what }) => what.split(' ')[0]).toSorted()).toEqual([
      'app/.git/modules/deep/other/config',
      'app/.git/modules/planted/hooks',
    ]);
    expect(git('-C', 'app/mine', 'rev-parse', '--show-toplevel')).toContain(join(root, 'app/mine'));
  });

  it('stay the user’s own, and read-only, in other spellings too', async () => {
    const project = createProject({ git: false });
    const files = ['.Codex/config.toml', 'sub/.Husky/pre-push', 'sub/.Claude/Settings.json'];
    for (const file of files) project.write(file, 'mine');
    const result = await project.run(
      '--',
      'sh',
      '-c',
      `for f in ${files.join(' ')}; do echo x >$f; done; echo x >.Codex/more; echo x >sub/.Claude/notes`,
    );
    expect(files.map((file) => readFileSync(join(project.root, file), 'utf8'))).toEqual([
      'mine',
      'mine',
      'mine',
    ]);
    expect(readdirSync(join(project.root, 'sub/.Claude')).toSorted()).toEqual(['Settings.json', 'notes']);
    expect(result.result?.policy.denials.map(({ rule }) => rule)).not.toContain('control-file');
  });

  it('are put aside in folders below as well', async () => {
    const project = createProject({ git: false });
    await project.run('--', 'sh', '-c', 'mkdir sub; echo {} > sub/.mcp.json');
    expect(readdirSync(join(project.root, 'sub'))).toEqual(['.mcp.json.left-out']);
  });
});

it('mode suggest is refused where no sandbox can keep it', async () => {
  const project = createProject();
  const refused = await project.caisson('run', '--sandbox', 'none', '--mode', 'suggest', '--', 'true');
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('without a sandbox')]);
});

it('reports writes that the sandbox refused, in the words of the program, without what is secret', async () => {
  const project = createProject();
  project.write('token', 'a-secret-of-4711');
  chmodSync(join(project.root, 'token'), 0o600);
  const result = await project.run(
    ...['--mode', 'suggest', '--secret', `TOKEN=file:${project.root}/token`],
    ...['--', 'sh', '-c', 'for i in 1 2; do touch "x-$TOKEN"; done; echo y >>a; echo fine >&2'],
  );
  const reported = result.result?.policy.denials.map(({ layer, rule, what }) => `${layer} ${rule} ${what}`);
  expect(reported).toHaveLength(2);
  expect(reported?.[0]).toMatch(/^sandbox read-only .*x-\[redacted:TOKEN\].*Read-only file system$/);
  const events = await project.events(result.runId);
  expect(events.filter(({ type }) => type === 'policy.denied')).toHaveLength(2);
});

describe('outputs', () => {
  it('hold no file that a link in them leads to', async () => {
    const project = createProject();
    const home = project.env['HOME'] ?? '';
    mkdirSync(join(home, '.ssh'));
    writeFileSync(join(home, '.ssh', 'id'), 'private');
    const result = await project.run(
      '--',
      'sh',
      '-c',
      `mkdir outputs; ln -s ${home}/.ssh outputs/keys; ln -s ${home}/.ssh/id outputs/key; echo x > outputs/real`,
    );
    expect(result.result?.outputs.map(({ path }) => path)).toEqual(['outputs/real']);
  });
});
