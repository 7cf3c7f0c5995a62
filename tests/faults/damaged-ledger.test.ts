/** Damage of a ledger that no run shows. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { createProject } from '../e2e/project.ts';

it('verify --all is not clean while the ledger is damaged, also where every run is correct', async () => {
  const project = createProject();
  await project.run('--', 'true');
  const file = join(project.root, '.caisson/ledger.db');
  const database = new DatabaseSync(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const { page_size: bytes } = database.prepare('PRAGMA page_size').get() as { page_size: number };
  const { rootpage: page } = database
    .prepare(`SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = 'approvals'`)
    .get() as { rootpage: number };
  database.close();
  const good = readFileSync(file);
  const fd = openSync(file, 'r+');
  writeSync(fd, randomBytes(bytes), 0, bytes, (page - 1) * bytes);
  closeSync(fd);
  const damaged = await project.caisson('verify', '--all');
  expect([damaged.code, damaged.stdout]).toEqual([6, expect.stringContaining('tampered  the ledger  ')]);
  expect(damaged.stdout).toContain('1 of 1 runs are correct; the ledger is not');
  expect(damaged.stdout).toContain('restore it from a backup');
  const { stdout } = await project.caisson('verify', '--all', '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'tampered', ledger: { outcome: 'tampered' } });
  writeFileSync(file, good);
  const sound = await project.caisson('verify', '--all', '-o', 'json');
  expect([sound.code, JSON.parse(sound.stdout)]).toEqual([0, expect.not.objectContaining({ ledger: {} })]);
}, 60_000);
