import { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openLocalStore, type Store } from '../store/index.ts';
import { compileSystemPrompt } from './compile-prompt.ts';
import type { Registry } from './contract.ts';
import {
  CredentialFoundError,
  DefinitionInvalidError,
  ModelLevelError,
  RegistryAccessError,
  RegistryCorruptError,
  UnknownNameError,
} from './errors.ts';
import { openRegistry } from './open-registry.ts';
import { registerFolder } from './register-folder.ts';
import { resolveModel } from './resolve-model.ts';

let work: string;
let folder: string;
let store: Store;
let registry: Registry;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'caisson-registry-'));
});
afterAll(() => rm(work, { recursive: true, force: true }));
beforeEach(async () => {
  const state = await mkdtemp(join(work, 's-'));
  folder = join(state, 'registry');
  store = openLocalStore(join(state, 'store'));
  registry = openRegistry({ folder, store });
});

async function writeTree(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(work, 't-'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

const agent = (definition: unknown) => registry.register('agents', 'reviewer', { definition });

describe('the registry', () => {
  it('resolves a name to the hash of its newest version, and an older version by its number', async () => {
    const one = await agent({ runtime: 'codex', model: 'fast', timeout: '10m' });
    const two = await agent({ runtime: 'codex', model: 'max', timeout: '10m' });
    expect([one.version, one.changed, two.version, two.changed]).toEqual([1, true, 2, true]);
    expect(await registry.resolve('agents', 'reviewer')).toBe(two.hash);
    expect(await registry.resolve('agents', 'reviewer@1')).toBe(one.hash);
    expect(await registry.resolve('agents', one.hash)).toBe(one.hash);
    expect((await registry.loadAgent('reviewer@1')).definition).toEqual({
      runtime: 'codex',
      model: 'fast',
      timeout: 600_000,
    });
    expect((await registry.versions('agents', 'reviewer')).map(({ version }) => version)).toEqual([1, 2]);
    expect(await registry.list('agents')).toMatchObject([{ name: 'reviewer', version: 2, hash: two.hash }]);
    expect((await registry.listVersions()).map(({ hash }) => hash)).toEqual([one.hash, two.hash]);
  });

  it('changes nothing when the same content is registered again, whatever the order of its members', async () => {
    const one = await agent({ runtime: 'codex', verify: { command: 'npm test', timeout: 600 } });
    const again = await agent({ verify: { timeout: '10m', command: 'npm test' }, runtime: 'codex' });
    expect(again).toEqual({ ...one, changed: false, diff: [] });
    expect(await readdir(join(folder, 'agents/reviewer'))).toEqual(['1.json']);
  });

  it('shows what a new version changes', async () => {
    await agent({ runtime: 'codex', model: 'fast' });
    const { diff } = await agent({ runtime: 'codex', model: 'max', mode: 'suggest' });
    expect(diff).toEqual([
      { sign: '+', path: 'mode', after: '"suggest"' },
      { sign: '~', path: 'model', before: '"fast"', after: '"max"' },
    ]);
  });

  it('gives every one of many racing registrations a version of its own, and equal ones the same', async () => {
    const others = Array.from({ length: 6 }, () => openRegistry({ folder, store }));
    const made = await Promise.all(
      others.map((other, index) =>
        other.register('agents', 'racer', { definition: { runtime: `r${index % 3}` } }),
      ),
    );
    const versions = await registry.versions('agents', 'racer');
    expect(versions.map(({ version }) => version)).toEqual(versions.map((_, index) => index + 1));
    for (const { hash } of made) expect(versions.some((version) => version.hash === hash)).toBe(true);
    expect((await readdir(join(folder, 'agents/racer'))).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('says what is unknown and what was probably meant', async () => {
    await agent({ runtime: 'codex' });
    const failure = await registry.resolve('agents', 'reviewr').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnknownNameError);
    expect(failure).toMatchObject({ remedy: expect.stringContaining('"reviewer"') });
    for (const reference of ['reviewer@2', 'reviewer@0', '../reviewer', 'f'.repeat(64), '', 'Reviewer']) {
      await expect(registry.resolve('agents', reference), reference).rejects.toThrow(UnknownNameError);
    }
  });

  it('reports a record that cannot be read as an error, never as an absent name', async () => {
    await agent({ runtime: 'a' });
    await agent({ runtime: 'b' });
    const [first, second] = [join(folder, 'agents/reviewer/1.json'), join(folder, 'agents/reviewer/2.json')];
    const original = await readFile(first, 'utf8');
    const damages = [
      original.replace('"version":1', '"version":7'),
      original.slice(0, 20),
      '',
      original.replace(/[0-9a-f]{64}/, 'f'.repeat(64)),
    ];
    for (const damage of damages) {
      await writeFile(first, damage);
      await expect(registry.resolve('agents', 'reviewer')).rejects.toThrow(RegistryCorruptError);
      await expect(registry.list('agents')).rejects.toThrow(RegistryCorruptError);
      await expect(agent({ runtime: 'c' })).rejects.toThrow(RegistryCorruptError);
    }
    await rm(first);
    await expect(registry.resolve('agents', 'reviewer')).rejects.toThrow(/1\.json is missing/);
    await writeFile(first, original);
    expect(await registry.resolve('agents', 'reviewer@1')).toBeDefined();
    await rm(second);
    await mkdir(second);
    await expect(registry.resolve('agents', 'reviewer')).rejects.toThrow(RegistryAccessError);
    await rm(join(folder, 'agents'), { recursive: true });
    await writeFile(join(folder, 'agents'), 'a file where a folder belongs');
    await expect(registry.list('agents')).rejects.toThrow(RegistryAccessError);
  });

  it('never shows a value of an env bundle, in get or in a diff', async () => {
    const definition = { values: { API_URL: 'https://internal' }, secrets: { TOKEN: 'env:TOKEN' } };
    await registry.register('envs', 'ci', { definition });
    const { diff } = await registry.register('envs', 'ci', {
      definition: { ...definition, values: { API_URL: 'https://other' } },
    });
    expect(diff).toEqual([{ sign: '~', path: 'values.API_URL' }]);
    const shown = await registry.get('envs', 'ci');
    expect(shown.definition).toEqual({ values: ['API_URL'], secrets: { TOKEN: 'env:TOKEN' } });
    expect(JSON.stringify(shown)).not.toContain('https://');
    expect((await registry.loadEnvBundle('ci@1')).bundle).toEqual(definition);
  });

  it('refuses definitions that are not valid, and says where', async () => {
    const cases: [string, string, unknown, RegExp][] = [
      ['agents', 'a', { runtme: 'codex' }, /unknown member runtme/],
      ['agents', 'a', { mode: 'yolo' }, /mode: must be one of suggest/],
      ['agents', 'a', { timeout: 'soon' }, /timeout/],
      ['agents', 'a', { systemPrompt: 'Be {{style}}.' }, /\{\{style\}\}/],
      ['envs', 'a', { values: { 'A B': 'x' } }, /values.A B/],
      ['envs', 'a', JSON.parse('{"values":{"__proto__":"x"}}'), /__proto__/],
      ['envs', 'a', { secrets: { A: 'hunter2' } }, /secrets.A/],
      ['envs', 'a', { values: { A: 'x' }, secrets: { A: 'env:A' } }, /both a value and a secret/],
      ['pipelines', 'pack.a', { blocks: [{ kind: 'seal' }] }, /seal/],
      ['pipelines', 'pack.a', { id: 'pack.b', blocks: [{ kind: 'agent' }] }, /pack.b/],
      ['pipelines', 'nopack', { blocks: [{ kind: 'agent' }] }, /id/],
    ];
    for (const [kind, name, definition, message] of cases) {
      await expect(
        registry.register(kind as 'agents', name, { definition }),
        JSON.stringify(definition),
      ).rejects.toThrow(message);
    }
    for (const name of ['', '.hidden', '../up', 'UPPER', 'a b', 'f'.repeat(64), 'x'.repeat(129)]) {
      await expect(registry.register('agents', name, { definition: {} }), name).rejects.toThrow(
        DefinitionInvalidError,
      );
    }
  });

  it('compiles prompts from fragments, once', () => {
    const definition = {
      systemPrompt: 'Be {{style}}. {{ style }} {{task}}',
      fragments: { style: 'terse {{style}}' },
    };
    const compiled = compileSystemPrompt('a', definition);
    expect(compiled).toMatchObject({
      text: 'Be terse {{style}}. terse {{style}} {{task}}',
      fragmentCount: 2,
    });
    expect(compiled.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('maps model levels per runtime and leaves native names alone', () => {
    expect(resolveModel('claude-code', 'fast')).toBe('haiku');
    expect(resolveModel('claude-code', 'some-native-id')).toBe('some-native-id');
    expect(resolveModel('command', '')).toBe('');
    expect(() => resolveModel('command', 'max')).toThrow(ModelLevelError);
    expect(() => resolveModel('toString', 'max')).toThrow(ModelLevelError);
  });
});

describe('capabilities', () => {
  const capability = (source: string) => registry.register('capabilities', 'lint', { folder: source });

  it('does not look for credentials through a link to a folder, and takes a link round in a circle', async () => {
    const outside = await writeTree({ key: `AKIA${'Q'.repeat(8)}7R5T2W4Z\n` });
    const leading = await writeTree({ 'a.txt': 'x' });
    await symlink(outside, join(leading, 'out'));
    await expect(capability(leading)).rejects.toMatchObject({ reason: 'symlink-out' });
    const round = await writeTree({ 'deep/a.txt': 'x' });
    await symlink('..', join(round, 'deep/up'));
    expect((await capability(round)).changed).toBe(true);
  });

  it('are bundles, and a new version says which files changed', async () => {
    const source = await writeTree({ 'skills/a.md': 'a', 'b.json': '{}' });
    const one = await capability(source);
    expect(await capability(source)).toEqual({ ...one, changed: false, diff: [] });
    await writeFile(join(source, 'skills/a.md'), 'changed');
    await writeFile(join(source, 'new'), '');
    await rm(join(source, 'b.json'));
    const { diff, hash } = await capability(source);
    expect(diff).toEqual([
      { sign: '-', path: 'b.json' },
      { sign: '+', path: 'new' },
      { sign: '~', path: 'skills/a.md' },
    ]);
    expect((await registry.loadCapability('lint')).hash).toBe(hash);
  });

  it('are refused with file and line when they hold something shaped like a credential', async () => {
    const token = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    const source = await writeTree({
      'ok.md': 'fine',
      'deep/config.sh': `#!/bin/sh\nexport X=1\nexport T=${token}\n`,
    });
    const failure = await capability(source).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CredentialFoundError);
    expect(failure).toMatchObject({
      message: expect.stringContaining('deep/config.sh:3 (github-token)'),
      findings: [{ path: 'deep/config.sh', line: 3, kind: 'github-token' }],
    });
    expect(String(failure)).not.toContain(token);
    await expect(registry.resolve('capabilities', 'lint')).rejects.toThrow(UnknownNameError);
  });

  it('are refused above fifty mebibytes, with hostile JSON, and by the rules of bundles', async () => {
    const large = await writeTree({ f: '' });
    await truncate(join(large, 'f'), 50 * 1024 * 1024 + 1);
    await expect(capability(large)).rejects.toMatchObject({ reason: 'too-large' });
    await expect(
      capability(await writeTree({ 'settings.json': '{"a":{"__proto__":{"x":1}}}' })),
    ).rejects.toThrow(/__proto__/);
    await expect(capability(await writeTree({ 's.json': '{"\\u005f_proto__":1}' }))).rejects.toThrow(
      /__proto__/,
    );
    await expect(capability(await writeTree({ 'A/x': '', 'a/y': '' }))).rejects.toMatchObject({
      reason: 'case-collision',
    });
    await expect(capability(join(work, 'absent'))).rejects.toThrow(DefinitionInvalidError);
  });
});

describe('register --from', () => {
  const files = {
    'agents/reviewer.yaml':
      'runtime: codex\ncapabilities: [lint]\nverify: { command: npm test, timeout: 5m }\n',
    'envs/ci.json': '{ "values": { "CI": "1" } }',
    'pipelines/pack.check.yml': 'blocks:\n  - kind: agent\n  - { kind: script, command: npm test }\n',
    'capabilities/lint/skill.md': 'lint well',
    'README.md': 'ignored',
  };

  it('registers a whole folder, and again without effect', async () => {
    const source = await writeTree(files);
    const first = await registerFolder(registry, source);
    expect(first.map(({ kind, name, changed }) => [kind, name, changed])).toEqual([
      ['capabilities', 'lint', true],
      ['envs', 'ci', true],
      ['pipelines', 'pack.check', true],
      ['agents', 'reviewer', true],
    ]);
    expect((await registerFolder(registry, source)).some(({ changed }) => changed)).toBe(false);
    expect((await registry.loadPipeline('pack.check')).spec.blocks).toHaveLength(2);
    expect((await registry.loadAgent('reviewer')).definition.verify?.timeout).toBe(300_000);
  });

  it('registers nothing when one file is wrong, and names it', async () => {
    const source = await writeTree({ ...files, 'pipelines/pack.bad.yaml': 'blocks: [' });
    await expect(registerFolder(registry, source)).rejects.toThrow(/pack\.bad\.yaml/);
    expect(await registry.list('capabilities')).toEqual([]);
    await expect(registerFolder(registry, await writeTree({ x: '' }))).rejects.toThrow(/declares nothing/);
  });
});
