/** The host's settings of git: inside the sandbox without keys, and in no event. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStamp } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import { createWorkspaces, SYSTEM_GIT_CONFIG } from '../workspace/index.ts';
import { launch } from './launch.ts';

const SYSTEM = `[core]
  autocrlf = input ; a comment
[safe] directory = "/srv/a \\"b\\"\\\\c"
[safe]
  directory = /srv/d
[merge "my.driver"]
  recursive
[http]
  extraHeader = Authorization: of-the-host
[http "https://example.com"]
  proxy = http://me:of-the-host@proxy:1
[HTTP] cookieFile = of-the-host
[url "https://me:of-the-host@example.com/"]
  insteadOf = https://example.com/
[credential]
  helper = of-the-host
[remote "x"]
  url = "https://me:of-the-host@example.com/x \\
    more"
[remote "y"]
  proxy = me:of-the-host
[tool]
  apiToken = of-the-host
[user]
  email = all@example.invalid
`;

/** What is shown as the system's settings, after every event of the launch was searched for keys of the host. */
async function shownOf(mode: number, request: object = {}): Promise<string | undefined> {
  const { rooms: given, project } = await openRooms();
  const home = project.env['HOME'] ?? '';
  const systemGitConfig = join(home, 'system');
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.invalid\n');
  writeFileSync(systemGitConfig, SYSTEM);
  chmodSync(systemGitConfig, mode);
  const stamp = createStamp(Buffer.alloc(32, 1));
  const rooms = { ...given, workspaces: createWorkspaces({ home, stamp, systemGitConfig }) };
  const { run, prepared } = await prepareRun(rooms, { argv: ['true'], ...request });
  onTestFinished(() => prepared.discard());
  const { worker, launched } = await launch(rooms, run, prepared);
  await rooms.compute.stop(worker.handle);
  const events = JSON.stringify([...rooms.ledger.read({ runId: run.runId }), launched]);
  expect(events).not.toMatch(/of-the-host|autocrlf|ada@example/);
  expect(JSON.stringify(prepared.job)).not.toContain('of-the-host');
  return prepared.job.sandbox.files?.find(({ path }) => path === SYSTEM_GIT_CONFIG)?.content;
}

const KEPT = `[core]
	autocrlf = "input"
[safe]
	directory = "/srv/a \\"b\\"\\\\c"
[safe]
	directory = "/srv/d"
[merge "my.driver"]
	recursive = "true"
[user]
	email = "all@example.invalid"
`;
const USER = '[user]\n\tname = "Ada"\n\temail = "ada@example.invalid"\n';

test('settings of the system are inside without headers, proxies, passwords and keys, and then the user', async () => {
  expect(await shownOf(0o644)).toBe(`${KEPT}${USER}`);
});

test('a workspace without a repository has the settings of the system alone', async () => {
  expect(await shownOf(0o644, { workspace: 'empty' })).toBe(KEPT);
});

test('a file of the system that other users cannot read is left out', async () => {
  expect(await shownOf(0o600)).toBe(USER);
});
