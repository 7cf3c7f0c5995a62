/** `store.s3` in caisson.yaml, against a real S3-speaking server. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startS3Server, type TestBucket } from '../../packages/engine/src/store/fixtures/s3-server.ts';
import { createProject, until } from './project.ts';

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

async function startServer(): Promise<TestBucket> {
  const bucket = await startS3Server('blobs-of-ours');
  onTestFinished(bucket.stop);
  return bucket;
}

function configFor(endpoint: string): string {
  return `store:\n  s3: { bucket: blobs-of-ours, prefix: team, endpoint: "${endpoint}" }\n`;
}

/** Every blob gets another byte in its middle. */
function damageStore(store: string): void {
  for (const entry of readdirSync(join(store, 'blobs'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const bytes = readFileSync(file);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  }
}

describe('a bucket named in the configuration', () => {
  it('gets everything a run put, and gives it back when the folder here has lost it', async () => {
    const { directory, endpoint } = await startServer();
    const project = createProject({ config: configFor(endpoint), env: CREDENTIALS });
    project.write('rules/RULES.md', 'Be kind.\n');
    await project.caisson('capabilities', 'register', 'rules', 'rules');
    const first = await project.run(
      '--capability',
      'rules',
      '--',
      'sh',
      '-c',
      'cat RULES.md; echo x > new.txt',
    );
    expect(first.status, first.cli.stderr).toBe('done');
    const mirrored = readdirSync(join(directory, 'blobs-of-ours', 'team', 'blobs')).join('\n');
    for (const digest of [first.result?.patchRef, first.result?.logs.stdout.ref]) {
      expect(mirrored).toContain(digest);
    }
    rmSync(join(project.root, '.caisson', 'store'), { recursive: true });
    const patch = await project.caisson('diff', first.runId);
    expect(patch.stdout, patch.stderr).toContain('new.txt');
    const verified = await project.caisson('verify', first.runId);
    expect(verified.code, verified.stdout + verified.stderr).toBe(0);
    const again = await project.run('--capability', 'rules', '--', 'cat', 'RULES.md');
    expect(again.stdout, again.cli.stderr).toBe('Be kind.\n');
    damageStore(join(project.root, '.caisson', 'store'));
    expect((await project.caisson('doctor')).code).toBe(6);
    const repaired = await project.caisson('doctor', '--repair', '-o', 'json');
    expect([repaired.code, repaired.stdout]).toEqual([
      0,
      expect.stringContaining(`patch of ${first.runId} was fetched from the bucket`),
    ]);
  });

  it('that cannot be reached costs a warning and not the run', async () => {
    const project = createProject({ config: configFor('http://127.0.0.1:1'), env: CREDENTIALS });
    const run = await project.run('--', 'sh', '-c', 'echo done');
    expect(run.status).toBe('done');
    expect(run.cli.stderr).toContain('on this machine only');
  });

  it('that a background host cannot reach is reported in the record of its run', async () => {
    const project = createProject({ config: configFor('http://127.0.0.1:1'), env: CREDENTIALS });
    const { stdout } = await project.caisson('run', '--detach', '--', 'true');
    const runId = /run_[0-9a-z]{20}/.exec(stdout)?.[0] ?? '';
    await project.caisson('logs', runId, '-f');
    const warned = await until('the warning is kept', async () => {
      const found = (await project.events(runId)).filter(({ type }) => type === 'warning');
      return found.length > 0 ? found : null;
    });
    expect(warned[0]).toMatchObject({ source: 'store' });
    const shown = await project.caisson('show', runId);
    expect(shown.stdout).toContain('on this machine only');
  });

  it('that was away gets what it missed from the next run, and everything from gc', async () => {
    const bucket = await startServer();
    const project = createProject({ config: configFor(bucket.endpoint), env: CREDENTIALS });
    const missing = (...digests: (string | undefined)[]) => {
      const names = readdirSync(join(bucket.directory, 'blobs-of-ours'), { recursive: true }).join('\n');
      return digests.filter((digest) => digest === undefined || !names.includes(digest));
    };
    await bucket.down();
    const away = await project.run('--', 'sh', '-c', 'echo missed; echo x > new.txt');
    expect(away.cli.stderr).toContain('on this machine only');
    const missed = [away.result?.patchRef, away.result?.logs.stdout.ref];
    await bucket.up();
    expect(missing(...missed)).toEqual(missed);
    const back = await project.run('--', 'true');
    expect(back.cli.stderr).toBe('');
    expect(missing(...missed)).toEqual([]);
    expect((await project.caisson('gc')).stdout).toContain('sent 0 blobs to the bucket');
    rmSync(join(bucket.directory, 'blobs-of-ours', 'team'), { recursive: true });
    const gc = await project.caisson('gc');
    expect(gc.stdout, gc.stderr).toMatch(/sent [1-9]\d* blobs to the bucket/);
    expect(missing(...missed)).toEqual([]);
    await bucket.down();
    const later = await project.caisson('gc');
    expect([later.code, later.stderr]).toEqual([0, expect.stringContaining('was not updated')]);
    await bucket.up();
  });
});
