import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

import { claimFolder } from './folder-claim.ts';

const CLAIMS = join(userInfo().homedir, '.local/state/caisson/claims');
const nameOf = (folder: string) => createHash('sha256').update(realpathSync(folder)).digest('hex');
const FIXTURE = fileURLToPath(new URL('fixtures/claim-folder.ts', import.meta.url));

it('one process has a folder, by any of its names, until it releases it or dies', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-claim-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const userState = join(base, 'user');
  const other = `${base}-link`;
  symlinkSync(base, other);
  onTestFinished(() => rmSync(other));

  const child = spawn(process.execPath, [FIXTURE, base, userState], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  expect(await claimFolder(other, 'us', userState)).toEqual({
    kind: 'taken',
    holder: `process ${child.pid}`,
  });
  child.kill('SIGKILL');
  await once(child, 'exit');

  const ours = await claimFolder(base, 'us', userState);
  expect(ours.kind).toBe('claimed');
  expect(await claimFolder(base, 'them', userState)).toEqual({ kind: 'taken', holder: 'us' });
  if (ours.kind === 'claimed') ours.release();
  const again = await claimFolder(base, 'us again', userState);
  expect(again.kind).toBe('claimed');
  if (again.kind === 'claimed') again.release();
  expect(readdirSync(CLAIMS).filter((name) => name.startsWith(nameOf(base)))).toEqual([]);
});

it('of many processes that claim the folder of a dead one at once exactly one gets it', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-claim-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const userState = join(base, 'user');
  const claim = async () => {
    const child = spawn(process.execPath, [FIXTURE, base, userState], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, said: String(said) };
  };
  const dead = await claim();
  dead.child.kill('SIGKILL');
  await once(dead.child, 'exit');
  const all = await Promise.all(Array.from({ length: 4 }, claim));
  expect(all.map(({ said }) => said).toSorted()).toEqual(['claimed', 'taken', 'taken', 'taken']);
});

it('a name that another account could take is none of a claim', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-claim-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const squatter = createServer();
  squatter.listen({ path: `\0caisson/in-place/${process.getuid?.() ?? 0}/${nameOf(base)}` });
  onTestFinished(() => void squatter.close());
  await once(squatter, 'listening');
  const userState = join(base, 'user');
  const claim = await claimFolder(base, 'us', userState);
  expect([claim.kind, statSync(CLAIMS).mode & 0o777]).toEqual(['claimed', 0o700]);
  if (claim.kind === 'claimed') claim.release();
});

it('a process with another HOME and another state folder finds the claim', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-claim-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const ours = await claimFolder(base, 'us', join(base, 'user'));
  expect(ours.kind).toBe('claimed');
  onTestFinished(() => void (ours.kind === 'claimed' && ours.release()));
  const home = join(base, 'home');
  const env = { HOME: home, XDG_STATE_HOME: join(home, 'state') };
  const child = spawn(process.execPath, [FIXTURE, base, join(home, 'state/caisson')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(String(((await once(child.stdout, 'data')) as [Buffer])[0])).toBe('taken');
});
