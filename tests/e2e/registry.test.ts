import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Registration, ShownName } from '@caisson/engine';
import { listStoredBlobs } from '../../packages/engine/src/store/fixtures/stored-blobs.ts';
import { createProject, type Project } from './project.ts';

const MIB = 1024 * 1024;
const STRICT =
  'blocks: [{ kind: agent }, { kind: capture, what: patch }, { kind: script, command: "test -e done.txt", lens: gate }]\n';

async function json<T>(project: Project, ...args: string[]): Promise<T> {
  const cli = await project.caisson(...args, '-o', 'json');
  expect(cli, cli.stdout + cli.stderr).toMatchObject({ code: 0 });
  return JSON.parse(cli.stdout) as T;
}

function writeTeam(project: Project): void {
  project.write(
    'team/agents/builder.yaml',
    'runtime: command\nmode: full-auto\nenvs: [ci]\ncapabilities: [rules]\n',
  );
  project.write(
    'team/envs/ci.yaml',
    'values: { CI_LEVEL: "visible-value-7" }\nsecrets: { TOKEN: "env:CI_TOKEN" }\n',
  );
  project.write('team/pipelines/team.strict.yaml', STRICT);
  project.write('team/capabilities/rules/RULES.md', 'be kind\n');
}

it('looking at what a file declares leaves nothing behind in a new project', async () => {
  const project = createProject({ config: 'agents: { fixer: { runtime: command } }\n' });
  expect(await json(project, 'agents', 'list')).toMatchObject([{ name: 'fixer', source: 'caisson.yaml' }]);
  expect(await json(project, 'agents', 'get', 'fixer')).toMatchObject({ definition: { runtime: 'command' } });
  expect(existsSync(join(project.root, '.caisson'))).toBe(false);
  expect((await project.caisson('run', '--', 'true')).code).toBe(0);
}, 60_000);

it('a folder is registered once, versions are added with a diff, and values are never printed', async () => {
  const project = createProject();
  writeTeam(project);
  expect(await project.caisson('register', '--from', 'team')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('TOKEN from env:CI_TOKEN') as string,
  });
  const first = await json<Registration[]>(project, 'register', '--from', 'team', '--allow-secrets');
  expect(first.map(({ kind, name, version, changed }) => [kind, name, version, changed])).toEqual([
    ['capabilities', 'rules', 1, true],
    ['envs', 'ci', 1, true],
    ['pipelines', 'team.strict', 1, true],
    ['agents', 'builder', 1, true],
  ]);
  const again = await json<Registration[]>(project, 'register', '--from', 'team', '--allow-secrets');
  expect(again.map(({ changed, hash }) => [changed, hash])).toEqual(first.map(({ hash }) => [false, hash]));
  project.write('team/envs/ci.yaml', 'values: { CI_LEVEL: "other-value-8", MORE: "x" }\n');
  project.write('team/capabilities/rules/NEW.md', 'new\n');
  const changed = await project.caisson('register', '--from', 'team', '--allow-secrets');
  expect(changed.stdout).toContain('changed  capabilities/rules@2');
  expect(changed.stdout).toContain('+ NEW.md');
  expect(changed.stdout).toContain('~ values.CI_LEVEL');
  for (const args of [
    ['envs', 'get', 'ci'],
    ['envs', 'get', 'ci@1'],
    ['envs', 'get', 'ci', '-o', 'json'],
    ['envs', 'list', '-o', 'json'],
  ])
    expect((await project.caisson(...args)).stdout + changed.stdout).not.toMatch(
      /visible-value-7|other-value-8/,
    );
  const shown = await json<ShownName>(project, 'envs', 'get', 'ci@1');
  expect(shown).toMatchObject({
    version: 1,
    definition: { values: ['CI_LEVEL'], secrets: { TOKEN: 'env:CI_TOKEN' } },
  });
  expect(shown.versions.map(({ version }) => version)).toEqual([1, 2]);
  expect(await json<ShownName>(project, 'capabilities', 'get', first[0]?.hash ?? '')).toMatchObject({
    version: 1,
  });
});

it('registered names resolve to hashes at admission and everything they say reaches the run', async () => {
  const project = createProject({ env: { CI_TOKEN: 'a-token-for-the-test' } });
  writeTeam(project);
  const registered = await json<Registration[]>(project, 'register', '--from', 'team', '--allow-secrets');
  const run = await project.run(
    '--agent',
    'builder',
    '--pipeline',
    'team.strict',
    '--',
    'sh',
    '-c',
    'echo "$CI_LEVEL"; test -n "$TOKEN" && cat RULES.md; touch done.txt',
  );
  expect(run).toMatchObject({ status: 'done', stdout: 'visible-value-7\nbe kind\n' });
  const hashes = Object.fromEntries(registered.map(({ name, hash }) => [name, hash]));
  expect(run.resolved).toMatchObject({
    agent: { name: 'builder', hash: hashes['builder'] },
    capabilities: [{ name: 'rules', hash: hashes['rules'] }],
    env: [{ name: 'ci', hash: hashes['ci'] }],
    pipeline: { id: 'team.strict', hash: hashes['team.strict'] },
  });
  expect(run.result?.policy.grant.mode).toBe('full-auto');
  const patch = (await project.caisson('diff', run.runId)).stdout;
  expect(patch).toContain('done.txt');
  expect(patch).not.toContain('RULES.md');
  const gate = await project.run('--agent', 'builder', '--pipeline', 'team.strict', '--', 'true');
  expect(gate).toMatchObject({ status: 'error', failure: { reason: 'provider-failed', cause: 'gate' } });
});

it('caisson.yaml comes before the registry, and both give the same hash for the same content', async () => {
  const project = createProject();
  project.write('own/RULES.md', 'mine\n');
  project.write('theirs/RULES.md', 'theirs\n');
  await json(project, 'capabilities', 'register', 'rules', 'theirs');
  const { hash } = await json<Registration>(project, 'capabilities', 'register', 'mine', 'own');
  project.write(
    'caisson.yaml',
    'capabilities: { rules: ./own }\nagents: { a: { runtime: command, capabilities: [rules] } }\n',
  );
  const run = await project.run('--agent', 'a', '--', 'cat', 'RULES.md');
  expect(run.stdout).toBe('mine\n');
  expect(run.resolved.capabilities).toEqual([{ name: 'rules', hash }]);
  expect((await project.caisson('capabilities', 'list')).stdout).toMatch(/rules\s+-\s+caisson\.yaml/);
});

/** A runtime of the user's own that prints what it is given. */
const ADAPTER = `
export default {
  name: 'echo',
  command: ({ systemPrompt, prompt, model, settings }) => ({
    argv: ['printf', '%s', JSON.stringify({ systemPrompt, prompt, model, settings })],
    env: {}, stdin: null, files: [],
  }),
  createStream: () => ({ line: () => [], end: () => ({ kind: 'answered', reply: '' }) }),
};
`;
const PROMPTED = `
runtimes: { echo: { adapter: ./adapter.mjs } }
agents:
  writer:
    runtime: echo
    model: native-name
    systemPrompt: "You are {{tone}}. {{ tone }}!"
    userPrompt: "Task: {{task}} ({{tone}})"
    fragments: { tone: "kind {{task}}" }
    maxTokens: 500
    temperature: 0.5
    timeout: 5m
    grant: { hosts: ["example.invalid:443"], budget: { turns: 3 }, depth: 1 }
  broken: { runtime: echo, systemPrompt: "{{missing}}" }
`;

it('prompts are compiled from fragments, which are text and no templates, and reported by their hash', async () => {
  const project = createProject({ config: PROMPTED });
  project.write('adapter.mjs', ADAPTER);
  const run = await project.run('--agent', 'writer', 'write {{tone}}');
  expect(run).toMatchObject({ status: 'done', resolved: { model: { requested: 'native-name' } } });
  const reported = JSON.parse(run.stdout) as Record<string, unknown>;
  expect(reported).toMatchObject({
    prompt: 'Task: write {{tone}} (kind {{task}})',
    model: 'native-name',
    settings: { maxTokens: 500, temperature: 0.5 },
  });
  expect(reported['systemPrompt']).toMatch(
    /^You are kind \{\{task\}\}\. kind \{\{task\}\}!\n\n.*needs_input\.json/s,
  );
  const compiled = (await project.events(run.runId)).find((event) => event.type === 'prompt.compiled');
  expect(compiled).toMatchObject({
    role: 'writer',
    tier: 'native-name',
    mode: 'auto-edit',
    fragmentCount: 4,
    hash: createHash('sha256').update(String(reported['systemPrompt'])).digest('hex'),
  });
  expect(run.result?.policy.grant).toMatchObject({
    hosts: ['example.invalid:443'],
    budget: { turns: 3 },
    depth: 1,
  });
  const flags = await project.run('--agent', 'writer', '--network', 'none', '--model', 'other', 'x');
  expect(flags.result?.policy.grant.hosts).toEqual([]);
  expect(flags.resolved.model.requested).toBe('other');
  const broken = await project.caisson('run', '--agent', 'broken', 'x');
  expect(broken).toMatchObject({ code: 2 });
  expect(broken.stderr).toContain('{{missing}}');
  const level = await project.caisson('run', '--agent', 'writer', '--model', 'fast', 'x');
  expect(level).toMatchObject({ code: 2 });
  expect(level.stderr).toContain('runtime echo has no model for level "fast"');
});

it('what an agent says about its answers and the runtime does not take is warned about by name', async () => {
  const project = createProject({
    config: 'agents:\n  cool: { runtime: command, maxTokens: 4321, temperature: 0.25 }\n',
  });
  const { runId } = await project.run('--agent', 'cool', '--', 'true');
  const warned = (await project.events(runId)).filter(({ type }) => type === 'warning');
  expect(warned.map((event) => event['message'])).toEqual([
    'command does not support the longest answer (maxTokens): 4321, which agent cool sets, has no effect',
    'command does not support the temperature: 0.25, which agent cool sets, has no effect',
  ]);
});

it('an unknown name is refused with those that are known', async () => {
  const project = createProject({ config: 'envs: { local: { values: { A: b } } }\n' });
  writeTeam(project);
  await json(project, 'register', '--from', 'team', '--allow-secrets');
  const refused = await project.caisson('run', '--env-bundle', 'prod', '--', 'true');
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain('there is no env bundle "prod"');
  expect(refused.stderr).toContain('ci, local');
  expect((await project.caisson('run', '--capability', 'rules@9', '--', 'true')).code).toBe(2);
});

it('a registry that cannot be read is an error and never an absent name', async () => {
  const project = createProject();
  writeTeam(project);
  await json(project, 'register', '--from', 'team', '--allow-secrets');
  writeFileSync(join(project.root, '.caisson/registry/agents/builder/1.json'), '{ "half": ');
  for (const args of [
    ['agents', 'list'],
    ['agents', 'get', 'builder'],
    ['run', '--agent', 'builder', '--', 'true'],
  ]) {
    const cli = await project.caisson(...args);
    expect(cli.code, args.join(' ')).toBe(6);
    expect(cli.stderr).toContain('builder/1.json');
    expect(cli.stderr).not.toContain('there is no agent');
  }
});

const BAD: [string, RegExp, (folder: string) => void][] = [
  ['a link that leaves it by ..', /link/, (folder) => symlinkSync('../../etc', join(folder, 'out'))],
  ['an absolute link', /link/, (folder) => symlinkSync('/etc/passwd', join(folder, 'out'))],
  ['a backslash', /backslash|\\\\/, (folder) => writeFileSync(join(folder, '..\\up'), 'x')],
  [
    'names that differ by case alone',
    /case/i,
    (folder) => {
      writeFileSync(join(folder, 'Readme'), 'x');
      writeFileSync(join(folder, 'README'), 'y');
    },
  ],
  [
    'a name that is not UTF-8',
    /UTF-8/,
    (folder) =>
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x66, 0xff, 0x6f])]), 'x'),
  ],
  [
    'a __proto__ member',
    /__proto__/,
    (folder) => writeFileSync(join(folder, 'settings.json'), '{"a":{"__proto__":{"admin":true}}}'),
  ],
  [
    'one byte more than 50 MiB',
    /50 MiB|52428800|larger|bytes/,
    (folder) => {
      writeFileSync(join(folder, 'big'), '');
      truncateSync(join(folder, 'big'), 50 * MIB + 1);
    },
  ],
  [
    'something that looks like a credential',
    /credential.*notes\.md:2/,
    (folder) => writeFileSync(join(folder, 'notes.md'), 'x\nghp_16C7e42F292c6912E7710c838347Ae178B4a\n'),
  ],
];

it.each(BAD)('a capability with %s is refused, registered or declared', async (_title, message, spoil) => {
  const project = createProject({ config: 'capabilities: { declared: ./cap }\n' });
  mkdirSync(join(project.root, 'cap'));
  writeFileSync(join(project.root, 'cap/fine.md'), 'fine');
  spoil(join(project.root, 'cap'));
  const registered = await project.caisson('capabilities', 'register', 'bad', 'cap');
  expect(registered.code).not.toBe(0);
  expect(registered.stderr).toMatch(message);
  expect((await project.caisson('capabilities', 'get', 'bad')).code).not.toBe(0);
  const declared = await project.caisson('run', '--capability', 'declared', '--', 'true');
  expect(declared.code).toBe(2);
  expect(declared.stderr).toMatch(message);
});

it('a capability that is no folder, or does not exist, is reported as such', async () => {
  const project = createProject();
  const file = await project.caisson('capabilities', 'register', 'rules', 'README.md');
  expect([file.code, file.stderr]).toEqual([
    1,
    expect.stringMatching(/README\.md is not a folder\. A capability is a folder/),
  ]);
  const absent = await project.caisson('capabilities', 'register', 'rules', 'nowhere');
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringMatching(/nowhere is not there\./)]);
});

it('50 MiB exactly, and ten thousand files, are taken', async () => {
  const project = createProject();
  mkdirSync(join(project.root, 'big'));
  writeFileSync(join(project.root, 'big/a'), '');
  truncateSync(join(project.root, 'big/a'), 50 * MIB);
  expect((await project.caisson('capabilities', 'register', 'big', 'big')).code).toBe(0);
  mkdirSync(join(project.root, 'many/sub'), { recursive: true });
  for (let index = 0; index < 10_000; index += 1)
    writeFileSync(join(project.root, 'many/sub', `file-${index}`), `content ${index % 100}`);
  expect((await project.caisson('capabilities', 'register', 'many', 'many')).code).toBe(0);
  const run = await project.run(
    '--capability',
    'many',
    '--',
    'sh',
    '-c',
    'ls sub | wc -l; echo mine > sub/mine',
  );
  expect(run).toMatchObject({ status: 'done', stdout: '10000\n' });
  const patch = (await project.caisson('diff', run.runId)).stdout;
  expect(patch).toContain('sub/mine');
  expect(patch).not.toContain('sub/file-');
}, 120_000);

it('several capabilities set up in order, share a settings file, and leave no trace in the patch', async () => {
  const project = createProject({
    config:
      'capabilities: { one: ./one, two: ./two }\nworkspace: { setup: "echo project >> setup.log; echo touched >> kept.txt" }\n',
  });
  project.write('kept.txt', 'mine\n');
  project.write('edited.txt', 'mine\n');
  project.write('one/.caisson/setup.sh', 'echo one >> setup.log\n');
  project.write('one/.claude/settings.json', '{"permissions":{"allow":["A"]}}');
  project.write('one/edited.txt', 'from one\n');
  project.write('two/.caisson/setup.sh', '#!/bin/sh -e\necho two >> setup.log\n');
  project.write('two/.claude/settings.json', '{"permissions":{"allow":["B"],"deny":["C"]}}');
  project.write('input.csv', 'a,b\n');
  project.git('add', '.');
  project.git('commit', '-qm', 'more');
  const run = await project.run(
    ...[
      '--capability',
      'one',
      '--capability',
      'two',
      '--input',
      'data.csv=input.csv',
      '--branch',
      'work/done',
    ],
    ...[
      '--',
      'sh',
      '-c',
      'cat setup.log .claude/settings.json inputs/data.csv; echo x >> setup.log; echo mine >> edited.txt; echo work > work.txt',
    ],
  );
  expect(run.status).toBe('done');
  expect(run.stdout.startsWith('project\none\ntwo\n')).toBe(true);
  expect(run.stdout).toContain('a,b');
  expect(JSON.parse(run.stdout.slice(run.stdout.indexOf('{'), run.stdout.lastIndexOf('}') + 1))).toEqual({
    permissions: { allow: ['A', 'B'], deny: ['C'] },
  });
  const patch = (await project.caisson('diff', run.runId)).stdout;
  const files = [...patch.matchAll(/^diff --git a\/(\S+)/gm)].map(([, path]) => path);
  // edited.txt was laid over and then edited: the edit of a file of the user's is work.
  expect(files).toEqual(['edited.txt', 'work.txt']);
  expect(project.git('diff', '--name-only', 'main', 'work/done').split('\n').filter(Boolean)).toEqual(files);
  expect((await project.caisson('apply', run.runId)).code).toBe(0);
  const setups = (await project.events(run.runId)).filter((event) => event['lens'] === 'setup');
  expect(setups.map((event) => String(event['command']).slice(0, 14))).toEqual([
    'echo project >',
    'capability one',
    'capability two',
  ]);
});

it.each([true, false])('in place, what was copied to the folder is removed again (git: %s)', async (git) => {
  const project = createProject({ git, config: 'capabilities: { one: ./cap }\n' });
  project.write('mine.txt', 'mine\n');
  project.write('edited.txt', 'mine\n');
  project.write('cap/mine.txt', 'theirs\n');
  project.write('cap/edited.txt', 'theirs\n');
  project.write('cap/deep/er/lent.txt', 'lent\n');
  project.write('cap/deep/er/kept.txt', 'lent\n');
  const run = await project.run(
    ...['--workspace', 'in-place', '--capability', 'one', '--input', 'in=mine.txt', '--', 'sh', '-c'],
    'cat mine.txt inputs/in; echo more >> edited.txt; echo more >> deep/er/kept.txt; echo new > new.txt',
  );
  expect(run).toMatchObject({ status: 'done', stdout: 'theirs\nmine\n' });
  const read = (path: string): string => readFileSync(join(project.root, path), 'utf8');
  expect(read('mine.txt')).toBe('mine\n');
  expect(read('edited.txt')).toBe('theirs\nmore\n');
  expect(read('deep/er/kept.txt')).toBe('lent\nmore\n');
  expect(read('new.txt')).toBe('new\n');
  expect(existsSync(join(project.root, 'inputs'))).toBe(false);
  expect(existsSync(join(project.root, 'deep/er/lent.txt'))).toBe(false);
  project.write('cap/zzz/below', 'x');
  project.write('zzz', 'a file of mine');
  const clash = await project.run('--workspace', 'in-place', '--capability', 'one', '--', 'true');
  expect(clash).toMatchObject({ status: 'error', failure: { reason: 'integrity-failed', step: 6 } });
  expect(read('mine.txt')).toBe('mine\n');
  expect(existsSync(join(project.root, 'deep/er/lent.txt'))).toBe(false);
});

it('capabilities that clash in type end the run before the agent, with both named', async () => {
  const project = createProject({ config: 'capabilities: { one: ./one, two: ./two, three: ./three }\n' });
  project.write('one/.mcp.json', '{"mcpServers":{"x":{"args":["a"]}}}');
  project.write('two/.mcp.json', '{"mcpServers":{"x":{"args":"a"}}}');
  project.write('three/.mcp.json/nested', 'x');
  const json = await project.run('--capability', 'one', '--capability', 'two', '--', 'touch', 'ran.txt');
  expect(json).toMatchObject({
    status: 'error',
    cli: { code: 6 },
    failure: {
      reason: 'integrity-failed',
      step: 6,
      detail:
        'overlay conflict in .mcp.json at $.mcpServers.x.args: capability "one" has an array, capability "two" has a string',
    },
  });
  const kinds = await project.run('--capability', 'one', '--capability', 'three', '--', 'true');
  expect(kinds.failure).toMatchObject({
    reason: 'integrity-failed',
    detail:
      'overlay conflict at .mcp.json: capability "one" has a file there, capability "three" has a folder',
  });
});

it('a setup script that fails or hangs ends the run, and says whose it was', async () => {
  const project = createProject({
    config: 'capabilities: { bad: ./bad, slow: ./slow }\nworkspace: { setupTimeout: 1s }\n',
  });
  project.write('bad/.caisson/setup.sh', 'echo no luck >&2; exit 3\n');
  project.write('slow/.caisson/setup.sh', 'sleep 60\n');
  const bad = await project.run('--capability', 'bad', '--', 'true');
  expect(bad.failure).toMatchObject({ reason: 'worker-failed', step: 9 });
  expect(bad.failure?.detail).toMatch(/capability bad.*exited with 3.*no luck/s);
  const slow = await project.run('--capability', 'slow', '--', 'true');
  expect(slow.failure).toMatchObject({
    reason: 'worker-failed',
    step: 9,
    detail: expect.stringContaining('capability slow'),
  });
});

it('gc keeps everything that a run which is not forgotten may need, and takes it after that', async () => {
  const project = createProject({ config: 'capabilities: { rules: ./rules }\n' });
  project.write('rules/RULES.md', 'kept by its run alone\n');
  writeTeam(project);
  await json(project, 'register', '--from', 'team', '--allow-secrets');
  const run = await project.run(
    '--capability',
    'rules',
    '--',
    'sh',
    '-c',
    'echo said; echo err >&2; mkdir outputs; echo o > outputs/o; echo n > n',
  );
  const before = await json<object>(project, 'show', run.runId);
  const swept = await json<{ blobs: number }>(project, 'gc', '--older-than', '1ms');
  expect(swept.blobs).toBe(0);
  expect(await json<object>(project, 'show', run.runId)).toEqual(before);
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
  expect((await project.caisson('logs', run.runId, '--stdout')).stdout).toBe('said\n');
  expect((await project.caisson('diff', run.runId)).stdout).toContain('+n');
  const retried = await json<{ status: string }>(project, 'retry', run.runId);
  expect(retried.status).toBe('done');
  const patchRef = run.result?.patchRef ?? '';
  const listDigests = (): string[] =>
    listStoredBlobs(join(project.root, '.caisson/store')).map(({ digest }) => digest);
  expect(listDigests()).toContain(patchRef);
  await project.caisson('forget', run.runId);
  const other = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
  for (const { runId } of other) await project.caisson('forget', runId);
  await project.caisson('gc', '--older-than', '1ms');
  expect(listDigests()).not.toContain(patchRef);
  expect((await project.caisson('capabilities', 'get', 'rules@1')).code).toBe(0);
  expect(readdirSync(join(project.root, '.caisson/registry')).toSorted()).toEqual([
    'agents',
    'capabilities',
    'envs',
    'pipelines',
  ]);
  expect(
    execFileSync('git', ['-C', project.root, 'for-each-ref', 'refs/caisson'], { encoding: 'utf8' }),
  ).toBe('');
});
