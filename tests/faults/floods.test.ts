/**
 * Output without end, without a newline or without sense: memory stays bounded, and a run beside it is not slowed. The
 * gigabyte is `npm run test:faults -- --kind flood`.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, finish, until, type Project } from '../e2e/project.ts';
import { listFolder } from './moments.ts';
import { FLOOD_PROGRAM, MAX_HOST_MIB, MAX_WORKER_MIB, runFlood } from './harness/kinds/flood.ts';

const NO_NEWLINE = `const b = Buffer.alloc(1 << 20, 97); let n = 0;
const go = () => { while (n++ < 64) if (!process.stdout.write(b)) return process.stdout.once('drain', go); }; go();`;

const INVALID_UTF8 = `const b = Buffer.alloc(1 << 20); for (let i = 0; i < b.length; i++) b[i] = 128 + (i % 127); b[99] = 10;
let n = 0; const go = () => { while (n++ < 16) if (!process.stdout.write(b)) return process.stdout.once('drain', go); }; go();`;

const MANY_LINES = `let n = 0; const start = Date.now();
const tick = () => { if (Date.now() - start > 3000) { process.stderr.write(String(n)); return; }
let text = ''; for (let i = 0; i < 1000; i++) text += 'line ' + (n++) + '\\n';
process.stdout.write(text) ? setTimeout(tick, 9) : process.stdout.once('drain', tick); }; tick();`;

const FLOOD_MIB = 256;

describe('a flood of output', () => {
  const cases = [
    { name: '64 MiB without a newline', argv: ['-e', NO_NEWLINE], bytes: 64 * 2 ** 20 },
    { name: '16 MiB of invalid UTF-8', argv: ['-e', INVALID_UTF8], bytes: 16 * 2 ** 20 },
    { name: '100 000 short lines a second', argv: ['-e', MANY_LINES], bytes: 100_000 },
    {
      name: `${FLOOD_MIB} MiB`,
      argv: ['-e', FLOOD_PROGRAM, String(FLOOD_MIB)],
      bytes: FLOOD_MIB * 2 ** 20,
    },
  ];
  for (const { name, argv, bytes } of cases) {
    it(`of ${name} leaves host and worker small and ends the run in order`, async () => {
      const project = createProject({ git: false });
      const { result, peaks } = await runFlood(project, argv);
      expect(result).toMatchObject({ status: 'done', exitCode: 0 });
      const ran = (await project.events(result.runId)).find((event) => event.type === 'runtime.adapter.ran');
      expect((ran?.['stdout'] as { bytes: number } | undefined)?.bytes).toBeGreaterThanOrEqual(bytes);
      expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(13 * 2 ** 20); // 4 MiB, as replacement characters
      expect(result.result?.logs.stdout.bytes).toBeLessThanOrEqual(4 * 2 ** 20);
      expect(peaks.host).toBeLessThan(MAX_HOST_MIB);
      expect(peaks.worker).toBeLessThan(MAX_WORKER_MIB);
    }, 180_000);
  }

  it('does not slow a run beside it beyond its share of the machine', async () => {
    const project = createProject({ git: false, config: 'limits: { concurrency: 4 }\n' });
    const alone = await timeOne(project);
    const noise = project.start(
      'run',
      '--workspace',
      'empty',
      '--cpus',
      '1',
      '--',
      process.execPath,
      '-e',
      FLOOD_PROGRAM,
      '4096',
    );
    noise.stdout?.resume();
    noise.stderr?.resume();
    await until('the flood has begun', () => spooledBytes(project) > 2 ** 20);
    const beside = await timeOne(project);
    noise.kill('SIGKILL');
    await finish(noise);
    // The flood takes a core for itself and one for us; a neighbour waits for CPU, never for a lock or a full pipe.
    expect(beside).toBeLessThan(alone * 4 + 1500);
  }, 60_000);
});

function spooledBytes({ root }: Project): number {
  const spools = join(root, '.caisson/runtime/spool');
  const sizes = listFolder(spools).map(
    (name) => statSync(join(spools, name, 'stdout'), { throwIfNoEntry: false })?.size ?? 0,
  );
  return Math.max(0, ...sizes);
}

async function timeOne(project: Project): Promise<number> {
  const startedMs = performance.now();
  expect((await project.run('--workspace', 'empty', '--', 'true')).status).toBe('done');
  return performance.now() - startedMs;
}
