import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { includeFiles } from './include-files.ts';

describe('files that a workspace includes', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'caisson-include-'));
    for (const folder of ['from/packages/a/node_modules', 'to', 'outside'])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, 'from/packages/a/node_modules/dep'), 'mine');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const include = (): ReturnType<typeof includeFiles> =>
    includeFiles({ patterns: ['packages/*/node_modules'], from: join(root, 'from'), to: join(root, 'to') });

  it('are copied with the folders around them', async () => {
    expect(await include()).toEqual({ brought: ['packages/a/node_modules'], missing: [] });
    expect(readFileSync(join(root, 'to/packages/a/node_modules/dep'), 'utf8')).toBe('mine');
  });

  it.each(['packages', 'packages/a'])('never go through a link at %s', async (place) => {
    mkdirSync(join(root, 'to', place, '..'), { recursive: true });
    symlinkSync(join(root, 'outside'), join(root, 'to', place));
    expect(await include()).toEqual({ brought: [], missing: [] });
    expect(readdirSync(join(root, 'outside'))).toEqual([]);
  });

  it('are never read through a link, and a name that looks like a pattern is a name', async () => {
    writeFileSync(join(root, 'outside/id_rsa'), 'key');
    mkdirSync(join(root, 'from/app/[id]'), { recursive: true });
    writeFileSync(join(root, 'from/app/[id]/.env'), 'PORT=1');
    symlinkSync(join(root, 'outside'), join(root, 'from/conf'));
    const patterns = ['conf/id_rsa', 'app/[id]/.env'];
    const included = await includeFiles({ patterns, from: join(root, 'from'), to: join(root, 'to') });
    expect(included).toEqual({ brought: ['app/[id]/.env'], missing: ['conf/id_rsa'] });
    expect(readdirSync(join(root, 'to'))).toEqual(['app']);
  });

  it('never go through a link that leads nowhere yet', async () => {
    symlinkSync(join(root, 'absent'), join(root, 'to/packages'));
    await include().catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    expect(existsSync(join(root, 'absent'))).toBe(false);
  });
});
