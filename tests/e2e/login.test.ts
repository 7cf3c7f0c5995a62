import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

const SESSION = '{"session":"of the user"}';
/** Stands for an agent program: shows its log-in, tries to change it, and looks where it may connect. */
const PROGRAM = `#!/bin/sh
echo "read: $(cat "$HOME/.codex/auth.json")"
(echo changed >> "$HOME/.codex/auth.json") 2>/dev/null && echo 'wrote it' || echo 'could not write it'
[ -e "$HOME/.ssh/id" ] && echo 'sees ~/.ssh' || echo 'does not see ~/.ssh'
echo "vendor: $(curl -s -o /dev/null -w '%{http_connect}' -m 5 https://elsewhere.example/)"
echo "keys: $OPENAI_API_KEY"
exit 9
`;

function prepare(options: { isLoggedIn: boolean }): Project {
  const project = createProject({
    env: { OPENAI_API_KEY: 'sk-a-key-that-is-not-used' },
    config: 'runtimes:\n  codex: { bin: ./program, login: mount, endpoint: "http://127.0.0.1:9/v1" }\n',
  });
  project.write('program', PROGRAM);
  chmodSync(join(project.root, 'program'), 0o755);
  const home = project.env['HOME'] ?? '';
  for (const folder of ['.codex', '.ssh']) mkdirSync(join(home, folder));
  writeFileSync(join(home, '.ssh/id'), 'private');
  if (options.isLoggedIn) writeFileSync(join(home, '.codex/auth.json'), SESSION, { mode: 0o600 });
  return project;
}

describe('a log-in session instead of a key', () => {
  it('is mounted read-only, is recorded as inside, and opens the vendor’s endpoint alone', async () => {
    const project = prepare({ isLoggedIn: true });
    const ran = await project.run('--runtime', 'codex', '--retries', '0', 'look around');
    expect(ran.stdout.split('\n')).toEqual([
      `read: ${SESSION}`,
      'could not write it',
      'does not see ~/.ssh',
      'vendor: 403',
      'keys: ',
      '',
    ]);
    expect(ran.result?.policy.enforced).toMatchObject({ credential: 'inside' });
    const events = await project.events(ran.runId);
    expect(events.find(({ type }) => type === 'dispatch.accepted')).toMatchObject({ credential: 'inside' });
    const home = project.env['HOME'] ?? '';
    expect(readFileSync(join(home, '.codex/auth.json'), 'utf8')).toBe(SESSION);
  });

  it('is found without a sandbox too', async () => {
    const project = prepare({ isLoggedIn: true });
    const ran = await project.run('--runtime', 'codex', '--sandbox', 'none', '--retries', '0', 'look around');
    expect(ran.stdout).toContain(`read: ${SESSION}`);
    expect(existsSync(join(project.env['HOME'] ?? '', '.codex/auth.json'))).toBe(true);
  });

  it('that does not exist refuses the task and says what to do', async () => {
    const project = prepare({ isLoggedIn: false });
    const refused = await project.caisson('run', '--runtime', 'codex', 'look around');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('.codex/auth.json');
    expect(refused.stderr).toContain('runtimes.codex.apiKey');
  });
});
