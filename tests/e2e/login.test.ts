/** The user's own log-in instead of a key: agreed to once, a copy inside, and new tokens back in the user's file. */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { createProject, until, type Project } from './project.ts';

const jwt = (claims: object): string =>
  [{ alg: 'none' }, claims, {}]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
const about = (account: string, exp: number): string =>
  jwt({ exp, sub: account, 'https://api.openai.com/auth': { chatgpt_account_id: account } });
const codex = (account: string, exp: number, refresh: string) => ({
  auth_mode: 'chatgpt',
  OPENAI_API_KEY: null,
  tokens: {
    id_token: about(account, exp),
    access_token: about(account, exp),
    refresh_token: refresh,
    account_id: account,
  },
  last_refresh: `2026-01-0${exp}T00:00:00Z`,
});
const claude = (n: number) => ({
  mcpOAuth: { tracker: { accessToken: 'a-token-that-stays' } },
  claudeAiOauth: {
    accessToken: `sk-ant-oat01-access-${n}`,
    refreshToken: `sk-ant-ort01-refresh-${n}`,
    expiresAt: n,
    scopes: ['user:inference'],
    subscriptionType: 'max',
  },
});
const gemini = (n: number) => ({
  access_token: `ya29.access-${n}`,
  refresh_token: '1//the-same-refresh-token',
  scope: 'https://www.googleapis.com/auth/cloud-platform',
  token_type: 'Bearer',
  id_token: jwt({ sub: '1234', email: 'me@example.com', exp: n }),
  expiry_date: n,
});
const pi = (n: number) => ({
  anthropic: { type: 'oauth', access: `sk-ant-access-${n}`, refresh: `sk-ant-refresh-${n}`, expires: n },
  other: { type: 'api_key', key: 'a-key-that-stays' },
});

/** A program's own file, before and after a refresh. */
const FORMATS = {
  codex: ['.codex/auth.json', codex('me', 1, 'refresh-token-1'), codex('me', 2, 'refresh-token-2')],
  'claude-code': ['.claude/.credentials.json', claude(1), claude(2)],
  gemini: ['.gemini/oauth_creds.json', gemini(1), gemini(2)],
  pi: ['.pi/agent/auth.json', pi(1), pi(2)],
} as const;

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

it('a log-in that is an API key is refused with the line that uses it, and that line works', async () => {
  const project = createProject();
  const home = project.env['HOME'] ?? '';
  project.write('codex.sh', '#!/bin/sh\necho codex-cli 1.0.0\n');
  chmodSync(join(project.root, 'codex.sh'), 0o755);
  mkdirSync(join(home, '.codex'));
  const key = { OPENAI_API_KEY: 'sk-a-key-of-mine', tokens: null };
  writeFileSync(join(home, '.codex/auth.json'), JSON.stringify(key));
  const config = join(home, '.config/caisson/config.yaml');
  mkdirSync(dirname(config), { recursive: true });
  const bin = `runtimes:\n  codex:\n    bin: ${join(project.root, 'codex.sh')}\n`;
  writeFileSync(config, bin);
  for (const login of [[], ['--login']]) {
    const { code, stderr } = await project.caisson('run', '--runtime', 'codex', ...login, 'do it');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /auth\.json\) is an API key.* runtimes\.codex\.apiKey: "exec:jq -r \.OPENAI_API_KEY ~\/\.codex\/auth\.json"; or set OPENAI_API_KEY/,
      ),
    ]);
  }
  writeFileSync(config, `${bin}    apiKey: "exec:jq -r .OPENAI_API_KEY ~/.codex/auth.json"\n`);
  const { stdout } = await project.caisson('runtimes');
  expect(stdout).toContain('the key of exec:');
});

/** Each runtime's program is `script`, which finds its log-in at $LOGIN and the refreshed one in the workspace. */
function prepare(script: string): Project & { readonly home: string; ownConfig(): string } {
  const project = createProject();
  const home = project.env['HOME'] ?? '';
  const rows = Object.entries(FORMATS).map(([name, [file, before, after]]) => {
    project.write(`${name}.sh`, `#!/bin/sh\nLOGIN="$HOME/${file}"; NEXT=${name}.json\n${script}\n`);
    project.write(`${name}.json`, JSON.stringify(after));
    chmodSync(join(project.root, `${name}.sh`), 0o755);
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), JSON.stringify(before), { mode: 0o600 });
    return `  ${name}: { bin: ${join(project.root, `${name}.sh`)}, endpoint: "http://127.0.0.1:9" }`;
  });
  const config = join(home, '.config/caisson/config.yaml');
  mkdirSync(dirname(config), { recursive: true });
  const hidden = Object.values(FORMATS).map(([file]) => `test ! -e $HOME/${file}`);
  const setup = `workspace: { setup: "${hidden.join(' && ')}" }`;
  writeFileSync(config, `# mine\nruntimes:\n${rows.join('\n')}\n${setup}\n`);
  project.git('add', '-A');
  project.git('commit', '-qm', 'programs');
  return { ...project, home, ownConfig: () => readFileSync(config, 'utf8') };
}

const warningsOf = async (project: Project, runId: string): Promise<string[]> =>
  (await project.events(runId)).flatMap((event) =>
    event.type === 'warning' && event['source'] === 'login' ? [String(event['message'])] : [],
  );

describe('the log-in of the user', () => {
  it('is refreshed inside and written back in every format; it is inside, redacted, and hidden from scripts', async () => {
    const project = prepare(
      'cat "$LOGIN"; grep -q that-stays "$LOGIN" && echo SAW-OTHERS; ls -A "$HOME/.ssh" 2>&1; cat $NEXT > "$LOGIN"; exit 9',
    );
    mkdirSync(join(project.home, '.ssh'));
    await Promise.all(
      Object.entries(FORMATS).map(async ([name, [file, before, after]]) => {
        const ran = await project.run('--runtime', name, '--login', '--retries', '0', 'look around');
        expect(ran.result?.policy.enforced).toMatchObject({ credential: 'inside' });
        expect(ran.stdout).toContain('[redacted:');
        expect(ran.stdout).toContain("cannot access '");
        expect(ran.stdout).not.toContain('SAW-OTHERS');
        const path = join(project.home, file);
        expect(read(path)).toEqual(after);
        expect(statSync(path).mode & 0o777).toBe(0o600);
        const events = await project.events(ran.runId);
        expect(events.find(({ type }) => type === 'dispatch.accepted')).toMatchObject({
          credential: 'inside',
        });
        for (const value of JSON.stringify(before).matchAll(
          /"(?:\w*[tT]oken|access|refresh)":"([^"]{10,})"/g,
        ))
          expect(JSON.stringify([ran, events])).not.toContain(value[1]);
        expect(await warningsOf(project, ran.runId)).toEqual([
          `the program refreshed your log-in; its new tokens are in ~/${file}`,
        ]);
      }),
    );
    const own = project.ownConfig();
    expect(own).toContain('# mine');
    expect(own.match(/login: mount/g)).toHaveLength(4);
  });

  it('is not replaced by that of another account, and not taken for another program by a retry', async () => {
    const project = prepare('cat bad.json > "$LOGIN"; exit 9');
    const [file, before] = FORMATS.codex;
    project.write('bad.json', JSON.stringify(codex('another', 2, 'refresh-token-2')));
    const ran = await project.run('--runtime', 'codex', '--login', '--retries', '0', 'be bad');
    expect(await warningsOf(project, ran.runId)).toEqual([expect.stringContaining('is of another account')]);
    expect(read(join(project.home, file))).toEqual(before);
    const other = ['--runtime', 'claude-code', '--network', 'none'];
    const { stdout } = await project.caisson('retry', ran.runId, ...other, '-o', 'json');
    const { runId } = JSON.parse(stdout) as { runId: string };
    expect((await project.events(runId))[0]).toMatchObject({ runtime: 'claude-code', credential: 'none' });
    expect(project.ownConfig().match(/login: mount/g)).toHaveLength(1);
  });

  it('that one run refreshes is in the other one at once', async () => {
    const project = prepare(
      'if [ -e first ]; then cat $NEXT > "$LOGIN"; else touch waits; until grep -q refresh-token-2 "$LOGIN"; do sleep 0.05; done; fi; exit 9',
    );
    const where = ['--workspace', 'in-place'];
    const options = ['--runtime', 'codex', '--login', '--retries', '0', '--timeout', '60s'];
    const waiting = project.run(...options, ...where, 'wait for the other');
    await until('the first one has its log-in', () => existsSync(join(project.root, 'waits')) || null);
    project.write('first', '');
    await project.run(...options, 'refresh');
    const ran = await waiting;
    expect(ran.failure?.reason).toBe('provider-failed');
    expect(await warningsOf(project, ran.runId)).toEqual([]);
    expect(read(join(project.home, '.codex/auth.json'))).toEqual(FORMATS.codex[2]);
  });

  it('is asked about once at a terminal, and never taken because a project says so', async () => {
    const project = prepare('exit 9');
    const config = join(project.home, '.config/caisson/config.yaml');
    writeFileSync(config, `runtimes: { codex: { bin: ${join(project.root, 'codex.sh')} } }\n`);
    const run = ['run', '--runtime', 'codex', '--retries', '0', 'look around'];
    const left = openTerminal(project, run);
    await until('it asks', () => left.screen().includes('[y/N]') || null);
    left.type('\u0003');
    expect(await left.ended).toBe(130);
    const asked = openTerminal(project, [...run, '--detach']);
    await until('it asks', () => asked.screen().includes('[y/N]') || null);
    asked.type('y\n');
    expect(await asked.ended).toBe(0);
    expect(asked.screen()).toMatch(/can read its token/);
    expect(project.ownConfig()).toContain('login: mount');
    const again = openTerminal(project, run);
    await again.ended;
    expect(again.screen()).not.toContain('[y/N]');
    writeFileSync(config, '');
    project.write('caisson.yaml', `runtimes: { codex: { bin: ./codex.sh, login: mount } }\n`);
    const { code, stderr } = await project.caisson(...run);
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be set by a project')]);
  });

  it('is found without a sandbox too, and is missing where there is none', async () => {
    const project = prepare('cat $NEXT > "$LOGIN"; exit 9');
    const options = ['--runtime', 'codex', '--login', '--retries', '0'];
    // Without a sandbox nothing is hidden from the operator's script.
    const config = join(project.home, '.config/caisson/config.yaml');
    writeFileSync(config, project.ownConfig().replace(/workspace:.*/, ''));
    await project.run(...options, '--sandbox', 'none', '--network', 'full', 'refresh');
    expect(read(join(project.home, '.codex/auth.json'))).toEqual(FORMATS.codex[2]);
    writeFileSync(join(project.home, '.codex/auth.json'), '{}');
    const refused = await project.caisson('run', ...options, 'look around');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/it has no "tokens".*runtimes\.codex\.apiKey.*log in with codex itself/s);
  });
});
