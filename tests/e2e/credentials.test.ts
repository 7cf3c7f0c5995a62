/** A runtime that cannot identify itself to its model is refused before there is a run, and discovery says so too. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

const PROGRAMS = ['codex', 'claude-code', 'gemini', 'opencode', 'pi'];
const LOGINS: Readonly<Record<string, readonly [string, unknown]>> = {
  codex: ['.codex/auth.json', { OPENAI_API_KEY: null, tokens: { access_token: 'a', refresh_token: 'r' } }],
  'claude-code': ['.claude/.credentials.json', { claudeAiOauth: { accessToken: 'a', refreshToken: 'r' } }],
  gemini: ['.gemini/oauth_creds.json', { access_token: 'a', refresh_token: 'r' }],
  pi: ['.pi/agent/auth.json', { anthropic: { type: 'oauth', access: 'a', refresh: 'r', expires: 1 } }],
};

function prepare(): Project {
  const rows = PROGRAMS.map((name) => `  ${name}: { bin: ./program }`);
  const project = createProject({ config: `runtimes:\n${rows.join('\n')}\n` });
  project.write('program', '#!/bin/sh\necho 99.0.0\n');
  chmodSync(join(project.root, 'program'), 0o755);
  return project;
}

function logIn(project: Project, name: string, value: unknown = LOGINS[name]?.[1]): void {
  const path = join(project.env['HOME'] ?? '', LOGINS[name]?.[0] ?? '');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 });
}

async function usesOf(project: Project): Promise<Record<string, string>> {
  const { stdout } = await project.caisson('runtimes', '-o', 'json');
  const found = JSON.parse(stdout) as { name: string; login: string; uses: string }[];
  return Object.fromEntries(found.map(({ name, login, uses }) => [name, `${login}: ${uses}`]));
}

it('every runtime without a key or a log-in is refused with the ways to fix it, and leaves no run', async () => {
  const project = prepare();
  const attempts = [...PROGRAMS, 'native'].map(async (name) => {
    const other = ['--env', 'MAX_TOKENS=5', '--env', 'KEYBOARD=us'];
    const { code, stderr } = await project.caisson('run', '--runtime', name, ...other, 'do something');
    expect({ name, code }).toEqual({ name, code: 1 });
    expect(stderr).toContain(`${name} has no key for its model`);
    expect(stderr).toContain(`runtimes.${name}.apiKey: env:NAME`);
    expect(stderr.includes(`log in with ${name} itself and give --login`)).toBe(name in LOGINS);
  });
  await Promise.all(attempts);
  expect(JSON.parse((await project.caisson('runs', '-o', 'json')).stdout)).toEqual([]);
});

interface Doctor {
  readonly probes: readonly { id: string; verdict: string; agent?: Outlook }[];
}

interface Outlook {
  readonly runtime: string;
  readonly uses?: string;
  readonly endpoint?: string | null;
  readonly grant?: { mode: string; sandbox: string };
  readonly refusal: { check: string; detail: string; remedy?: string } | null;
}

async function outlookOf(project: Project): Promise<Record<string, Outlook>> {
  const { probes } = JSON.parse((await project.caisson('doctor', '-o', 'json')).stdout) as Doctor;
  return Object.fromEntries(
    probes.flatMap(({ agent }) => (agent === undefined ? [] : [[agent.runtime, agent]])),
  );
}

it('the doctor says of each agent what a run would use, or refuses in the words of the run', async () => {
  const project = prepare();
  logIn(project, 'codex');
  logIn(project, 'claude-code', '{ broken');
  project.env['GEMINI_API_KEY'] = 'dummy';
  const own = join(project.env['HOME'] ?? '', '.config/caisson/config.yaml');
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, 'runtimes: { claude-code: { login: mount }, opencode: { apiKey: env:NOT_SET } }\n');
  const outlook = await outlookOf(project);
  expect(outlook['gemini']).toMatchObject({
    uses: 'the key in GEMINI_API_KEY',
    endpoint: expect.stringMatching(/^https:/) as string,
    grant: { mode: 'auto-edit', sandbox: 'bwrap' },
    refusal: null,
  });
  for (const name of ['codex', 'claude-code', 'opencode', 'pi']) {
    const { stdout } = await project.caisson('run', '-o', 'json', '--runtime', name, 'do something');
    const { error } = JSON.parse(stdout) as { error: { message: string; remedy: string } };
    const { refusal } = outlook[name] ?? {};
    expect({ name, remedy: refusal?.remedy }).toEqual({ name, remedy: error.remedy });
    expect(error.message).toContain(refusal?.detail);
  }
  expect((await project.caisson('doctor')).stdout).toMatch(
    /several runtimes are here.*ready with --runtime: gemini.*runtime-codex +\S+\/program: not asked for its version: it lies in .*a run is refused: codex has no key for its model\n +Set OPENAI_API_KEY.*--login, once.*runtime-gemini.*\n +uses the key in GEMINI_API_KEY\n +model of its own choice, at https:\S+\n +mode auto-edit; it asks our gate before each call\n +sandbox bwrap, no network but its model, memory 4g/s,
  );
});

it('discovery says exactly what a run would use', async () => {
  const project = prepare();
  for (const name of Object.keys(LOGINS)) logIn(project, name);
  logIn(project, 'gemini', '{ broken');
  project.env['ANTHROPIC_API_KEY'] = 'sk-dummy';
  const own = join(project.env['HOME'] ?? '', '.config/caisson/config.yaml');
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, 'runtimes: { pi: { login: mount }, opencode: { endpoint: "http://127.0.0.1:9/v1" } }\n');
  expect(await usesOf(project)).toMatchObject({
    codex: 'login-unused: nothing yet: --login uses your log-in (~/.codex/auth.json)',
    'claude-code': 'key: the key in ANTHROPIC_API_KEY',
    gemini: 'none: nothing: set GEMINI_API_KEY, or log in with gemini',
    opencode: 'no-key: no key, at http://127.0.0.1:9/v1',
    pi: 'login: your log-in (~/.pi/agent/auth.json), which the agent can read',
    command: 'not-needed: -',
  });
  const { stderr } = await project.caisson('run', '--runtime', 'codex', 'do something');
  expect(stderr).toContain('.codex/auth.json): --login, once. The agent can then read its token');
});

it('the key of a gateway whose address is only in the environment goes nowhere', async () => {
  const project = prepare();
  project.env['ANTHROPIC_API_KEY'] = 'sk-of-the-gateway';
  project.env['ANTHROPIC_BASE_URL'] = 'http://127.0.0.1:9/gateway';
  const refused = await project.caisson('run', '--runtime', 'claude-code', 'do something');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('ANTHROPIC_BASE_URL is set and not used');
  expect(refused.stderr).toContain('runtimes.claude-code.endpoint: "http://127.0.0.1:9/gateway"');
  expect((await usesOf(project))['claude-code']).toContain('ANTHROPIC_BASE_URL is set and not used');
  const { refusal } = (await outlookOf(project))['claude-code'] ?? {};
  expect(refusal?.detail).toContain('ANTHROPIC_BASE_URL is set and not used');
  project.env['ANTHROPIC_BASE_URL'] = 'https://api.anthropic.com/';
  expect((await usesOf(project))['claude-code']).toBe('key: the key in ANTHROPIC_API_KEY');
});
