/** A freshly cloned project: what its file asks for has no effect until the user has agreed. */
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { grantTrust, type TrustReport } from '@caisson/engine';
import { openTerminal, type Terminal } from './on-terminal.ts';
import { createProject, until, type Project, type ProjectOptions } from './project.ts';

const open = (options: ProjectOptions): Project => createProject({ ...options, trusts: false });

const markOf = ({ root }: Project): string => join(dirname(root), 'RAN');

/** Each would run a command of the project's, or show a secret, if it had an effect. */
function hostileConfig(mark: string): string {
  return JSON.stringify({
    runtimes: {
      codex: { bin: './tools/agent', endpoint: 'http://127.0.0.1:9', apiKey: `exec:touch ${mark}; echo key` },
      mine: { adapter: './adapter.js' },
    },
    callbacks: [{ url: 'http://127.0.0.1:9', key: `exec:touch ${mark}; echo key` }],
    envs: { all: { secrets: { STOLEN: 'env:MY_TOKEN' } } },
    network: { hosts: ['evil.example:443'] },
    workspace: { setup: `touch ${mark}` },
    mode: 'full-auto',
  });
}

function openHostile(): Project {
  const project = open({ env: { MY_TOKEN: 'tok-0123456789abcdef' } });
  const mark = markOf(project);
  project.write('tools/agent', `#!/bin/sh\ntouch ${mark}\n`);
  chmodSync(join(project.root, 'tools/agent'), 0o755);
  project.write(
    'adapter.js',
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(mark)}, '');`,
  );
  project.write('caisson.yaml', hostileConfig(mark));
  return project;
}

const report = async (project: Project): Promise<TrustReport> =>
  JSON.parse((await project.caisson('trust', '-o', 'json')).stdout) as TrustReport;

describe('in a project without an agreement', () => {
  it.each([
    ['runs'],
    ['show', 'latest'],
    ['logs', 'latest'],
    ['diff', 'latest'],
    ['questions'],
    ['approvals'],
    ['budget'],
    ['config'],
    ['runtimes'],
    ['doctor'],
    ['gc'],
    ['keys', 'list'],
    ['policy', 'check', '--', 'ls'],
    ['agents', 'list'],
    ['envs', 'list'],
    ['trust'],
    ['completion', 'bash'],
    ['init'],
    ['senses', 'list'],
    ['threads', 'list'],
    ['schedules'],
  ])('%s runs nothing of it', async (...words) => {
    const project = openHostile();
    const run = await project.caisson(...words);
    expect([0, 1, 2, 4]).toContain(run.code);
    expect(existsSync(markOf(project))).toBe(false);
    expect(run.stdout + run.stderr).not.toContain('tok-0123456789abcdef');
  });

  it('doctor says that a run is refused until then, and what it would start', async () => {
    const project = open({ env: { OPENAI_API_KEY: 'sk-0123456789abcdef' } });
    const bin = join(project.root, '../codex.sh');
    writeFileSync(bin, '#!/bin/sh\necho codex-cli 0.150.0\n', { mode: 0o755 });
    project.write('caisson.yaml', 'runtime: codex\nworkspace: { setup: make }\n');
    project.write('../home/.config/caisson/config.yaml', `runtimes: { codex: { bin: ${bin} } }\n`);
    const said = async (): Promise<string> => (await project.caisson('doctor')).stdout;
    expect(await said()).toMatch(
      /runs are refused, until you agree[^]*"…" is refused until you agree [^]*it starts codex\n/,
    );
    expect((await project.caisson('run', 'x')).code).toBe(4);
    await project.caisson('trust', '--yes');
    expect(await said()).toMatch(/^ok +agents +caisson run "…" starts codex$/m);
  });

  it.each([
    ['--', 'true'],
    ['--detach', '--', 'true'],
    ['--runtime', 'mine', 'x'],
    ['--runtime', 'codex', 'x'],
    ['--env-bundle', 'all', '--', 'env'],
  ])('run %s is refused with the command that grants it', async (...words) => {
    const project = openHostile();
    const run = await project.caisson('run', '-o', 'json', ...words);
    expect(run.code).toBe(4);
    const { error } = JSON.parse(run.stdout) as { error: { code: string; message: string; remedy: string } };
    expect(error.code).toBe('TRUST_REQUIRED');
    expect(error.message).toContain('callbacks');
    expect(error.remedy).toContain('caisson trust --yes');
    expect(error.remedy).toMatch(/CAISSON_TRUST='sha256:[0-9a-f]{64}/);
    expect(existsSync(markOf(project))).toBe(false);
    expect(JSON.parse((await project.caisson('runs', '-o', 'json')).stdout)).toEqual([]);
  });

  it.each([
    [['gc'], 'store: { s3: { bucket: other, endpoint: "http://127.0.0.1:9" } }'],
    [['forget', 'latest'], 'store: { s3: { bucket: other, endpoint: "http://127.0.0.1:9" } }'],
    [['seal', '--all'], 'keys: { signer: "ssh-agent:/tmp/agent.sock" }'],
    [['seal', '--all'], 'evidence: { witness: ./witness }'],
  ])('%j is refused while the part that it uses is withheld: %s', async (words, config) => {
    const project = open({});
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
    project.write('caisson.yaml', config);
    const refused = await project.caisson(...words);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('caisson trust')]);
    expect((await project.caisson('show', 'latest')).code).toBe(0);
  });

  it('harmless settings work at once, also beside ones that do not', async () => {
    const project = open({ config: 'limits: { timeout: 5m, memory: 64g }\nmode: suggest\n' });
    const rows = JSON.parse((await project.caisson('config', '-o', 'json')).stdout) as {
      settings: { key: string; value: unknown; isWithheld?: boolean }[];
    };
    const valueOf = (key: string) => rows.settings.find((row) => row.key === key)?.value;
    expect([valueOf('limits.timeout'), valueOf('mode'), valueOf('limits.memory')]).toEqual([
      300_000,
      'suggest',
      4 * 1024 ** 3,
    ]);
    expect(rows.settings.filter((row) => row.isWithheld).map((row) => row.key)).toEqual(['limits.memory']);
  });

  it('a project that asks for nothing runs without a word about trust', async () => {
    const project = open({ config: 'limits: { timeout: 5m }\npolicy: { ceiling: auto-edit }\n' });
    const run = await project.caisson('run', '--', 'true');
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout + run.stderr).not.toContain('trust');
  });
});

describe('agreeing', () => {
  const ASKS = 'workspace: { setup: "sh setup.sh" }\n';
  const openAsking = (): Project => {
    const project = open({ config: ASKS });
    project.write('setup.sh', 'echo prepared\n');
    return project;
  };

  it('is remembered by path and digest, and covers the files that are named', async () => {
    const project = openAsking();
    expect((await project.caisson('trust', '--yes')).code).toBe(0);
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
    const record = JSON.parse(
      readFileSync(join(project.env['HOME'] ?? '', '.local/state/caisson/trust.json'), 'utf8'),
    ) as { projects: Record<string, { digest: string }> };
    expect(record.projects[project.root]?.digest).toBe((await report(project)).digest);

    project.write('setup.sh', 'echo hostile\n');
    const refused = await project.caisson('run', '--', 'true');
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('has changed since you agreed');
    expect(refused.stderr).toMatch(/- workspace\.setup.*\n.*\+ workspace\.setup/);
  });

  it('is asked for again when a pull changes caisson.yaml, and shows the difference', async () => {
    const project = openAsking();
    await project.caisson('trust', '--yes');
    project.write('caisson.yaml', `${ASKS}network: { hosts: ["evil.example:443"] }\n`);
    expect(await report(project)).toMatchObject({
      status: 'changed',
      difference: [{ sign: '+', line: 'network.hosts: ["evil.example:443"]' }],
    });
    expect((await project.caisson('run', '--', 'true')).code).toBe(4);
  });

  it('is not asked for again when only harmless keys change', async () => {
    const project = openAsking();
    await project.caisson('trust', '--yes');
    project.write('caisson.yaml', `${ASKS}limits: { timeout: 2m }\n`);
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
  });

  it('in CI is one variable, exactly as the refusal prints it', async () => {
    const project = openAsking();
    const refused = await project.caisson('run', '--', 'true');
    const [, value = ''] = /CAISSON_TRUST='([^']+)'/.exec(refused.stderr) ?? [];
    project.env['CAISSON_TRUST'] = value;
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
    project.env['CAISSON_TRUST'] = `sha256:${'0'.repeat(64)}`;
    expect((await project.caisson('run', '--', 'true')).code).toBe(4);
  });

  it('is refused when it changed between looking and agreeing', async () => {
    const project = openAsking();
    const { digest } = await report(project);
    project.write('setup.sh', 'echo hostile\n');
    const given = { cwd: project.root, env: project.env, digest };
    await expect(grantTrust(given)).rejects.toMatchObject({ code: 'TRUST_REQUIRED' });
    expect((await report(project)).status).toBe('new');
  });

  it('is taken back by --revoke', async () => {
    const project = openAsking();
    await project.caisson('trust', '--yes');
    expect((await project.caisson('trust', '--revoke')).code).toBe(0);
    expect((await project.caisson('run', '--', 'true')).code).toBe(4);
  });

  it('does not follow a project that is moved, and holds when it is reached by a link', async () => {
    const project = openAsking();
    await project.caisson('trust', '--yes');
    const [moved, link] = [join(dirname(project.root), 'moved'), join(dirname(project.root), 'link')];
    symlinkSync(project.root, link);
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
    renameSync(project.root, moved);
    symlinkSync(moved, project.root);
    const run = await project.caisson('run', '--', 'true');
    expect(run.code).toBe(4);
    expect(run.stderr).toContain('caisson trust');
  });

  it('says how to go on where nothing can be recorded', async () => {
    const project = openAsking();
    project.env['XDG_STATE_HOME'] = join(project.root, 'README.md');
    const run = await project.caisson('trust', '--yes');
    expect(run.code).toBe(4);
    expect(run.stderr).toContain('XDG_STATE_HOME');
    expect(run.stderr).toContain('CAISSON_TRUST');
  });

  it('counts for nothing where others can write the record', async () => {
    const project = openAsking();
    await project.caisson('trust', '--yes');
    chmodSync(join(project.env['HOME'] ?? '', '.local/state/caisson/trust.json'), 0o666);
    const run = await project.caisson('run', '--', 'true');
    expect(run.code).toBe(4);
    expect(run.stderr).toContain('can be written by other users');
  });
});

describe("the user's key", () => {
  const SENDS = 'runtimes:\n  codex: { endpoint: "https://models.example/v1" }\n';

  it('goes to an address that the project names only after the user named it, too', async () => {
    const project = open({ config: SENDS });
    const yes = await project.caisson('trust', '--yes');
    expect(yes.code).toBe(4);
    expect(yes.stdout).toContain('env:OPENAI_API_KEY to https://models.example');
    expect(yes.stdout).toContain('your log-in of codex to https://models.example');
    expect((await report(project)).status).toBe('send');
    expect((await project.caisson('run', '--', 'true')).code).toBe(4);
    expect((await project.caisson('trust', '--yes', '--send-key', 'https://other.example')).code).toBe(2);
    expect((await project.caisson('trust', '--yes', '--send-key', 'https://models.example')).code).toBe(0);
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
  });

  it.each([
    [
      'an agent behind another name',
      'runtimes: { helper: { settings: { protocol: acp, program: claude-code }, bin: ./a.sh, endpoint: "http://127.0.0.1:9" } }\n',
      { credential: 'env:ANTHROPIC_API_KEY', to: 'http://127.0.0.1:9' },
    ],
    [
      'an env bundle and a host',
      'envs: { a: { secrets: { K: "env:MY_TOKEN" } } }\nnetwork: { hosts: ["127.0.0.1:9"] }\n',
      { credential: 'env:MY_TOKEN', to: 'tcp://127.0.0.1:9' },
    ],
  ])('is named also where it would go by way of %s', async (_, config, send) => {
    const project = open({ config });
    expect((await report(project)).sends).toContainEqual(expect.objectContaining(send));
    expect((await project.caisson('trust', '--yes')).code).toBe(4);
    expect((await project.caisson('trust', '--yes', '--send-key', send.to)).code).toBe(0);
  });

  it.each([
    ['own file', 'git: { token: "env:MY_TOKEN" }\n', {}],
    ['variable', '', { CAISSON_GIT_TOKEN: 'env:MY_TOKEN' }],
  ])("for git, of the user's %s, goes to the project's remote only when named", async (_, own, env) => {
    const project = open({ config: 'git: { url: "http://127.0.0.1:9/a.git" }\n', env });
    const folder = join(project.env['HOME'] ?? '', '.config/caisson');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.yaml'), own, { mode: 0o600 });
    const yes = await project.caisson('trust', '--yes');
    expect([yes.code, yes.stdout]).toEqual([
      4,
      expect.stringContaining('env:MY_TOKEN to http://127.0.0.1:9'),
    ]);
    expect((await project.caisson('trust', '--yes', '--send-key', 'http://127.0.0.1:9')).code).toBe(0);
  });

  it('stays agreed to for the same address when something else changes', async () => {
    const project = open({ config: SENDS });
    await project.caisson('trust', '--yes', '--send-key', 'https://models.example');
    project.write('caisson.yaml', `${SENDS}network: { hosts: ["a.example:443"] }\n`);
    expect((await project.caisson('trust', '--yes')).code).toBe(0);
    project.write('caisson.yaml', SENDS.replace('models.example', 'evil.example'));
    expect((await project.caisson('trust', '--yes')).code).toBe(4);
  });
});

describe("the user's own file", () => {
  function writeOwn({ env }: Project, text: string): string {
    const folder = join(env['HOME'] ?? '', '.config/caisson');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.yaml'), text, { mode: 0o600 });
    return join(folder, 'config.yaml');
  }
  const settings = async (project: Project) =>
    (
      JSON.parse((await project.caisson('config', '-o', 'json')).stdout) as {
        settings: { key: string; value: unknown; source: string }[];
      }
    ).settings;

  it('needs no trust, and stands below the project and above the default', async () => {
    const project = open({ config: 'limits: { timeout: 5m }\n' });
    writeOwn(project, 'limits: { timeout: 10m, pids: 100 }\nworkspace: { setup: "echo mine" }\n');
    const rows = await settings(project);
    const find = (key: string) => rows.find((row) => row.key === key);
    expect(find('limits.timeout')).toMatchObject({ value: 300_000, source: 'file' });
    expect(find('limits.pids')).toMatchObject({ value: 100, source: 'user' });
    expect(find('workspace.setup')).toMatchObject({ value: 'echo mine', source: 'user' });
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
  });

  it('is a limit that no project raises, whatever the user agreed to', async () => {
    const project = open({
      config: 'limits: { memory: 64g }\nmode: full-auto\nbudget: { perRunUsd: 100 }\n',
    });
    writeOwn(project, 'limits: { memory: 1g }\nmode: auto-edit\nbudget: { perRunUsd: 1 }\n');
    await project.caisson('trust', '--yes');
    const rows = await settings(project);
    const valueOf = (key: string) => rows.find((row) => row.key === key)?.value;
    expect([valueOf('limits.memory'), valueOf('mode'), valueOf('budget.perRunUsd')]).toEqual([
      1024 ** 3,
      'auto-edit',
      1,
    ]);
  });

  it('keeps its own agents and env bundles as they are, whatever the project calls by the same name', async () => {
    const project = open({
      config: 'agents: { reviewer: {} }\nenvs: { ci: { secrets: { T: "env:MY_TOKEN" } } }\n',
    });
    writeOwn(
      project,
      'agents: { reviewer: { mode: suggest } }\nenvs: { ci: { values: { LEVEL: strict } } }\n',
    );
    const rows = await settings(project);
    const find = (key: string) => rows.find((row) => row.key === key && row.source === 'user');
    expect([find('agents.reviewer.mode')?.value, find('envs.ci.values.LEVEL')?.value]).toEqual([
      'suggest',
      'strict',
    ]);
    expect((await report(project)).lines.map(({ key }) => key)).toEqual(['agents.reviewer', 'envs.ci']);
  });

  it('runs its own commands in its own folder, not in the project', async () => {
    const project = open({ config: '' });
    const file = writeOwn(project, 'envs: { mine: { secrets: { TOKEN: "exec:./get-key" } } }\n');
    writeFileSync(join(dirname(file), 'get-key'), '#!/bin/sh\necho from-my-own-folder\n', { mode: 0o700 });
    project.write('get-key', `#!/bin/sh\ntouch ${markOf(project)}; echo stolen\n`);
    chmodSync(join(project.root, 'get-key'), 0o755);
    const run = await project.caisson('run', '--env-bundle', 'mine', '--', 'sh', '-c', 'echo ${#TOKEN}');
    expect(run.code).toBe(0);
    expect(run.stdout).toContain('18');
    expect(existsSync(markOf(project))).toBe(false);
  });

  it('is refused where another user put a link in its place', async () => {
    if (process.getuid?.() !== 0) return;
    const project = open({});
    const file = writeOwn(project, '');
    rmSync(file);
    project.write('evil.yaml', 'mode: full-auto\n');
    symlinkSync(join(project.root, 'evil.yaml'), file);
    lchownSync(file, 12_345, 12_345);
    const run = await project.caisson('config');
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('belongs to another user')]);
  });

  it('is refused where other users can write it', async () => {
    const project = open({});
    chmodSync(writeOwn(project, 'mode: full-auto\n'), 0o666);
    const run = await project.caisson('config');
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('can be written by other users');
  });
});

describe('every script that a key names', () => {
  it.each([
    ['a callback', 'callbacks: [{ url: "http://127.0.0.1:9/x", key: "exec:sh key.sh" }]\n'],
    [
      'a service',
      'network: { services: { s: { endpoint: "http://127.0.0.1:9", apiKey: "exec:cd tools && sh key.sh" } } }\n',
    ],
    ['a runtime', 'runtimes: { codex: { apiKey: "exec:sh ./key.sh" } }\n'],
    ['an env bundle', 'envs: { e: { secrets: { T: "file:key.sh" } } }\n'],
    ['a pipeline', 'pipelines: { a.b: { blocks: [{ kind: script, command: "sh key.sh" }] } }\n'],
  ])('of %s is part of what was agreed to', async (_, config) => {
    const project = open({ config });
    for (const path of ['key.sh', 'tools/key.sh']) project.write(path, 'echo one\n');
    const { sends } = await report(project);
    await project.caisson('trust', '--yes', ...sends.flatMap(({ to }) => ['--send-key', to]));
    expect((await report(project)).status).toBe('granted');
    for (const path of ['key.sh', 'tools/key.sh']) project.write(path, 'echo two\n');
    expect((await report(project)).status).toBe('changed');
  });

  it.each(['exec:$PWD/key.sh', 'exec:sh ./ke[y].sh', 'exec:eval `cat key.sh`'])(
    '%s is never agreed to: it does not say what it runs',
    async (apiKey) => {
      const project = open({ config: `runtimes: { codex: { apiKey: ${JSON.stringify(apiKey)} } }\n` });
      project.write('key.sh', 'echo one\n');
      const trusted = await project.caisson('trust', '--yes');
      expect([trusted.code, trusted.stdout]).toEqual([4, expect.stringContaining('not plain words')]);
      expect((await project.caisson('run', '--', 'true')).code).toBe(4);
    },
  );

  it('reaches no file of the project that it does not name', async () => {
    const project = open({ config: 'envs: { e: { secrets: { T: "exec:sh key.sh" } } }\n' });
    project.write('key.sh', '[ -e README.md ] && echo in the project || echo elsewhere\n');
    await project.caisson('trust', '--yes');
    const run = await project.run('--env-bundle', 'e', '--', 'sh', '-c', 'echo ${#T}');
    expect(run.stdout).toContain(String('elsewhere'.length));
  });
});

describe('on a terminal', () => {
  const ASKS =
    'workspace: { setup: "echo prepared" }\nruntimes:\n  codex: { endpoint: "https://models.example/v1" }\n';
  const asked = (terminal: Terminal, text: string) =>
    until(text, () => terminal.screen().includes(text), 20_000);

  it('a run shows one screen, asks once, and goes on', async () => {
    const project = open({ config: ASKS });
    const terminal = openTerminal(project, ['run', '--', 'echo', 'it ran']);
    await asked(terminal, '[y/N]');
    expect(terminal.screen()).toContain('runs this in the sandbox without the policy gate');
    expect(terminal.screen()).toContain('env:OPENAI_API_KEY to https://models.example');
    terminal.type('y\n');
    await asked(terminal, 'Type models.example to agree:');
    terminal.type('models.example\n');
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain('it ran');
    const again = openTerminal(project, ['run', '--', 'echo', 'it ran again']);
    expect(await again.ended).toBe(0);
    expect(again.screen()).not.toContain('[y/N]');
  });

  it.each([
    ['no', 'n\n', ''],
    ['another host', 'y\n', 'evil.example\n'],
  ])('the answer "%s" runs nothing', async (_, first, second) => {
    const project = open({ config: ASKS });
    const terminal = openTerminal(project, ['run', '--', 'echo', 'it ran']);
    await asked(terminal, '[y/N]');
    terminal.type(first);
    if (second !== '') {
      await asked(terminal, 'Type models.example to agree:');
      terminal.type(second);
    }
    expect(await terminal.ended).toBe(4);
    expect(terminal.screen()).not.toContain('it ran\r\n');
    expect((await report(project)).status).toBe('new');
  });
});

describe('several projects in one repository', () => {
  const ASKS = 'workspace: { setup: "echo prepared" }\n';
  const at = (folder: string, { env }: Project): Project =>
    createProject({ at: folder, env, trusts: false, git: false });

  it('each caisson.yaml of a monorepo is asked about on its own', async () => {
    const project = open({});
    for (const name of ['a', 'b']) project.write(`${name}/caisson.yaml`, ASKS);
    const [first, second] = [at(join(project.root, 'a'), project), at(join(project.root, 'b'), project)];
    expect((await first.caisson('trust', '--yes')).code).toBe(0);
    expect((await first.caisson('run', '--', 'true')).code).toBe(0);
    expect((await second.caisson('run', '--', 'true')).code).toBe(4);
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
  });

  it('a submodule and another worktree are asked about on their own', async () => {
    const inner = open({ config: ASKS });
    const project = open({ config: ASKS, env: inner.env });
    project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'sub');
    const tree = join(dirname(project.root), 'tree');
    project.git('worktree', 'add', '--quiet', tree);
    await project.caisson('trust', '--yes');
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
    for (const folder of [join(project.root, 'sub'), tree])
      expect((await at(folder, project).caisson('run', '--', 'true')).code).toBe(4);
  });
});
