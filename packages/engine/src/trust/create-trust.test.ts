import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import type { TrustRequest } from '../config/index.ts';
import { createTrust } from './create-trust.ts';
import type { Trust } from './contract.ts';

const SETUP = { path: ['workspace', 'setup'], value: 'sh setup.sh' };
const SEND = { by: 'runtimes.codex', credential: 'env:KEY', to: 'https://a.example' };

function createPlace(): { folder: string; projectRoot: string; open(variable?: string): Trust } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-trust-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [folder, projectRoot] = [join(base, 'state'), join(base, 'project')];
  mkdirSync(projectRoot);
  writeFileSync(join(projectRoot, 'setup.sh'), 'one');
  const open = (variable?: string): Trust =>
    createTrust({
      folder,
      env: variable === undefined ? {} : { CAISSON_TRUST: variable },
      clock: systemClock,
    });
  return { folder, projectRoot, open };
}

const ask = (projectRoot: string, more: Partial<TrustRequest> = {}): TrustRequest => ({
  projectRoot,
  asks: [SETUP],
  sends: [],
  ...more,
});

test('what was agreed to is granted until the value or a named file changes', async () => {
  const { projectRoot, open } = createPlace();
  const request = ask(projectRoot);
  expect(await open().decide(request)).toMatchObject({ kind: 'required', reason: 'new' });
  await open().grant(request, []);
  expect(await open().decide(request)).toMatchObject({ kind: 'granted' });
  const other = ask(projectRoot, { asks: [{ ...SETUP, value: 'sh setup.sh --more' }] });
  expect(await open().decide(other)).toMatchObject({ kind: 'required', reason: 'changed' });
  writeFileSync(join(projectRoot, 'setup.sh'), 'two');
  const changed = await open().report(request);
  expect(changed.status).toBe('changed');
  expect(changed.difference.map(({ sign }) => sign)).toEqual(['-', '+']);
});

test('without a sense, workflow or schedule it is less than was agreed to; any other change is asked about', async () => {
  const { projectRoot, open } = createPlace();
  const nightly = { path: ['schedules', 'nightly'], value: { cron: '0 3 * * *', task: 'sweep' } };
  const hourly = { path: ['schedules', 'hourly'], value: { cron: '0 * * * *', task: 'look' } };
  const decide = async (asks: TrustRequest['asks'], more: Partial<TrustRequest> = {}): Promise<unknown> =>
    (await open().decide(ask(projectRoot, { asks, ...more }))).kind;
  await open().grant(ask(projectRoot, { asks: [SETUP, nightly, hourly], sends: [SEND] }), [SEND.to]);
  const sends = { sends: [SEND] };
  expect(await decide([SETUP, hourly], sends)).toBe('granted');
  expect(await decide([SETUP], sends)).toBe('granted');
  expect(await decide([SETUP, nightly, hourly], sends)).toBe('granted'); // it came back as it was
  const often = { ...hourly, value: { ...hourly.value, cron: '* * * * *' } };
  expect(await decide([SETUP, often], sends)).toBe('required');
  expect(await decide([SETUP, { ...hourly, path: ['schedules', 'other'] }], sends)).toBe('required');
  // What stays may mean something else without another key, or without an address.
  expect(await decide([nightly, hourly], sends)).toBe('required');
  expect(await decide([SETUP, hourly])).toBe('required');
  writeFileSync(join(projectRoot, 'setup.sh'), 'two');
  expect(await decide([SETUP, hourly], sends)).toBe('required');
});

test('a project that asks for nothing needs no record', async () => {
  const { projectRoot, open } = createPlace();
  expect(await open().decide(ask(projectRoot, { asks: [] }))).toEqual({ kind: 'nothing-asked' });
});

test('an address that gets a key is agreed to by its name, and only that one', async () => {
  const { projectRoot, open } = createPlace();
  const request = ask(projectRoot, { sends: [SEND] });
  await open().grant(request, []);
  expect(await open().decide(request)).toMatchObject({ kind: 'required', reason: 'send' });
  await open().grant(request, ['https://b.example']);
  expect(await open().report(request)).toMatchObject({ status: 'send', missingSends: [SEND.to] });
  await open().grant(request, [SEND.to]);
  expect(await open().decide(request)).toMatchObject({ kind: 'granted' });
});

test('the variable agrees to exactly what it names, and says when it is stale', async () => {
  const { projectRoot, open } = createPlace();
  const request = ask(projectRoot, { sends: [SEND] });
  const { variable, digest } = await open().report(request);
  expect(await open(variable).decide(request)).toMatchObject({ kind: 'granted' });
  expect(await open(digest).decide(request)).toMatchObject({ kind: 'required', reason: 'send' });
  for (const wrong of ['yes', 'sha256:00', `${'sha256:'.padEnd(71, '0')}`])
    expect(await open(wrong).report(request)).toMatchObject({ status: 'new', isVariableStale: true });
});

test('what was taken back, and a record that others can write, grant nothing', async () => {
  const { folder, projectRoot, open } = createPlace();
  const request = ask(projectRoot);
  await open().grant(request, []);
  expect(await open().revoke(projectRoot)).toBe(true);
  expect(await open().revoke(projectRoot)).toBe(false);
  expect(await open().decide(request)).toMatchObject({ kind: 'required', reason: 'new' });
  await open().grant(request, []);
  chmodSync(join(folder, 'trust.json'), 0o666);
  await expect(open().decide(request)).rejects.toMatchObject({ code: 'TRUST_STORE' });
});
