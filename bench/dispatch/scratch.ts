import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Scratch {
  readonly root: string;
  /** A project folder of its own. */
  readonly project: string;
  /** The environment of a user who has nothing but this folder. */
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

export function createScratch(name: string): Scratch {
  const root = mkdtempSync(join(tmpdir(), `caisson-bench-${name}-`));
  const project = join(root, 'project');
  mkdirSync(join(project, '.caisson'), { recursive: true });
  return {
    root,
    project,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: root, XDG_CACHE_HOME: join(root, 'cache') },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Milliseconds from the start of a program to its end; a program that fails is not measured. */
export function timeProgram(file: string, args: readonly string[], scratch: Scratch): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(file, args, {
    cwd: scratch.project,
    env: scratch.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(performance.now() - startedAt);
      else reject(new Error(`${file} ${args.join(' ')} ended with ${code}: ${stderr}`));
    });
  });
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
