import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admit } from './admit.ts';
import { openRooms } from './fixtures/open-rooms.ts';

test('an acceptance names inputs by digest and variables by name, and keeps a request that can be repeated', async () => {
  const { rooms, project } = await openRooms();
  const file = join(project.root, 'README.md');
  const { runId } = await admit(rooms, {
    argv: ['true'],
    env: { ZONE: 'secret-zone', AREA: '1' },
    inputs: { spec: file },
    idempotencyKey: 'once',
  });
  const sha256 = hash('sha256', readFileSync(file));
  const [accepted] = rooms.ledger.read({ runId });
  if (accepted?.type !== 'dispatch.accepted') throw new Error('the run was not accepted');
  expect(accepted.data).toMatchObject({
    runtime: 'command',
    idempotencyKey: 'once',
    envNames: ['AREA', 'ZONE'],
    inputs: [{ key: 'spec', sha256, isStored: true }],
    credential: 'none',
  });
  expect(JSON.stringify(accepted.data)).not.toContain('secret-zone');

  project.write('README.md', 'changed since\n');
  const request: unknown = JSON.parse(String(await rooms.store.getBlob(accepted.data.requestRef ?? '')));
  expect(request).toEqual({
    argv: ['true'],
    lackingEnv: ['ZONE', 'AREA'],
    storedInputs: { spec: { sha256, isExecutable: false } },
  });
  expect(String(await rooms.store.getBlob(sha256))).toBe('# sample\n');
});

test('an acceptance says how long an attempt may take, also when nobody asked for a time', async () => {
  const { rooms } = await openRooms();
  const timesOf = async (timeoutMs?: number) => {
    const { runId } = await admit(rooms, {
      argv: ['true'],
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    const [accepted] = rooms.ledger.read({ runId });
    return accepted?.type === 'dispatch.accepted' ? accepted.data.timeoutMs : undefined;
  };
  expect(await timesOf(90_000)).toBe(90_000);
  expect(await timesOf()).toBe(rooms.settings.timeoutMs);
});
