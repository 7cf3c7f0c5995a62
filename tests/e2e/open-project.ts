/**
 * A temporary project and the built CLI in it, for tests and for programs that test. The caller decides how it ends.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DispatchResult, WireEvent } from '@caisson/protocol';
// Not the engine's door: every test file loads what this one names, and the whole engine takes a second.
import { ConfigError, resolveUserFolders } from '../../packages/engine/src/config/index.ts';
import { grantTrust, inspectTrust } from '../../packages/engine/src/operations/project-trust.ts';
import { openStateFolder } from '../../packages/engine/src/trust/index.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const BIN = process.env['CAISSON_BIN'] ?? join(ROOT, 'packages/cli/bin/caisson.js');

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Project {
  readonly root: string;
  readonly env: Record<string, string>;
  write(path: string, content: string | Buffer): void;
  git(...args: string[]): string;
  /** Runs the built CLI to its end. */
  caisson(...args: string[]): Promise<CliRun>;
  /** The user agrees to what the project's file asks for now; `start` does not do that by itself. */
  trust(): Promise<void>;
  /** Starts the built CLI and leaves it running; ended with the test. */
  start(...args: string[]): ChildProcess;
  /** `run -o json` and its result. */
  run(...args: string[]): Promise<DispatchResult & { cli: CliRun }>;
  events(run: string): Promise<WireEvent[]>;
}

export interface ProjectOptions {
  /** Default true: a repository with one commit. */
  readonly git?: boolean;
  /** Name of its folder; default `project`. */
  readonly folder?: string;
  readonly config?: string;
  /** Folder in which the project's own is made. Default: that of temporary files. */
  readonly under?: string;
  /** A project that is already there: nothing is written to it. */
  readonly at?: string;
  readonly env?: Record<string, string>;
  /** Another build of the CLI than that of this tree. */
  readonly bin?: string;
  /** Default true: the user agrees to whatever the project's file asks for, before every command. */
  readonly trusts?: boolean;
}

/** `onEnd` collects what takes the project away again. */
export function openProject(options: ProjectOptions, onEnd: (end: () => void) => void): Project {
  const base = realpathSync(mkdtempSync(join(options.under ?? tmpdir(), 'caisson-e2e-')));
  const root = options.at ?? join(base, options.folder ?? 'project');
  const home = join(base, 'home');
  if (options.at === undefined) mkdirSync(root);
  mkdirSync(home);
  // A background host may still write its last files there.
  onEnd(() => rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const env = { ...environmentOf(home), ...options.env };
  const project: Project = {
    root,
    env,
    write(path, content) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    git: (...args) =>
      execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
        cwd: root,
        env,
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
      }),
    trust: () => trustProject(root, env),
    async caisson(...args) {
      if (options.trusts ?? true) await project.trust();
      return finish(project.start(...args));
    },
    start(...args) {
      const child = spawn(process.execPath, [options.bin ?? BIN, ...args], {
        cwd: root,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      onEnd(() => void child.kill('SIGKILL'));
      return child;
    },
    async run(...args) {
      const cli = await project.caisson('run', '-o', 'json', ...args);
      try {
        return { ...(JSON.parse(cli.stdout) as DispatchResult), cli };
      } catch {
        throw new Error(`no result on stdout (exit ${cli.code}): ${cli.stdout}${cli.stderr}`);
      }
    },
    async events(run) {
      const { stdout } = await project.caisson('logs', run, '-o', 'ndjson');
      return parseLines(stdout);
    },
  };
  if (options.config !== undefined) project.write('caisson.yaml', options.config);
  if (options.git ?? options.at === undefined) {
    project.git('init', '-q', '-b', 'main');
    project.write('README.md', '# sample\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'first');
  }
  return project;
}

function environmentOf(home: string): Record<string, string> {
  return {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
    HOME: home,
    LANG: 'C.UTF-8',
    XDG_CACHE_HOME: join(tmpdir(), 'caisson-e2e-cache'),
  };
}

/** Agrees to what a project asks for, as its user would; a file that cannot be read is left to the command. */
export async function trustProject(cwd: string, env: Record<string, string>): Promise<void> {
  const given = { cwd, env };
  try {
    const { status, sends, folder, state } = await inspectTrust(given);
    if (status === 'nothing-asked' || status === 'granted' || folder !== null || state !== null) return;
    await grantTrust({ ...given, sendsTo: sends.map(({ to }) => to) });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
}

/** The project's state folder, made as the first command makes it: for tests that look into it from the start. */
export function makeState({ root, env }: Project): string {
  const stateDir = join(root, '.caisson');
  openStateFolder({ stateDir, projectRoot: root, folders: resolveUserFolders(env) });
  return stateDir;
}

export function finish(child: ChildProcess): Promise<CliRun> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  return new Promise((resolve) => {
    child.once('close', (code) =>
      resolve({
        code,
        stdout: Buffer.concat(out).toString('utf8'),
        stderr: Buffer.concat(err).toString('utf8'),
      }),
    );
  });
}

export function parseLines(text: string): WireEvent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WireEvent);
}

/** Polls for a fact about the world that no event reports; fails loudly instead of hoping. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  limitMs = 15_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (performance.now() > end) throw new Error(`not seen within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Pids whose command line contains the mark. */
export function pidsWith(mark: string): number[] {
  const listed = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  return listed
    .split('\n')
    .filter((line) => line.includes(mark) && !line.includes('ps -eo'))
    .map((line) => Number.parseInt(line.trim(), 10));
}
