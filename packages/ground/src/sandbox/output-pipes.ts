// Node gives a child sockets where a shell would give it pipes, and a socket cannot be opened by name: then `echo oops
// >/dev/stderr`, common in build scripts, fails inside. Two nameless FIFOs are real pipes.
import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { unusedName } from '../platform/index.ts';
import type { SandboxSpec } from './contract.ts';
import { drainStreams } from './drain.ts';
import { SandboxStartError } from './errors.ts';
import { launchGuard } from './launch-guard.ts';
import { followFile, openOutputFile } from './output-file.ts';

/** The write ends for the child, and our read ends as streams. */
export interface OutputPipes {
  readonly stdoutFd: number;
  readonly stderrFd: number;
  /** Our copies of the write ends must be closed once the child has its own, or the streams would never end. */
  closeWriteEnds(): void;
  /** Starts to read; called once. */
  openStreams(): { stdout: Readable; stderr: Readable };
  /** Waits for the end of the streams, at most a short while; no process of the child is left. */
  drain(streams: readonly Readable[]): Promise<void>;
}

/** Starting the program that makes them takes longer than making them: a few are made at once. */
const MADE_AT_ONCE = 4;
const MAX_TRIES = 8;

const ready: OutputPipes[] = [];

/** Makes the next sandboxes' pipes now. */
export function prepareOutputPipes(): void {
  if (ready.length === 0) ready.push(...makePipes());
}

/** Both pipes, for one sandbox, or a file and a pipe; nothing of them is left on the disk. */
export function createOutputPipes({ stdoutFolder }: Pick<SandboxSpec, 'stdoutFolder'>): OutputPipes {
  prepareOutputPipes();
  const pipes = ready.pop();
  if (pipes === undefined) throw new SandboxStartError('No pipe could be made.');
  return stdoutFolder === undefined ? pipes : withStdoutFile(pipes, openOutputFile(stdoutFolder));
}

/** A file is read to its end, however long that takes: no other process can keep it open. */
const FILE_DRAIN_MS = 600_000;

function withStdoutFile(pipes: OutputPipes, fd: number): OutputPipes {
  const { stream, end } = followFile(fd);
  return {
    ...pipes,
    stdoutFd: fd,
    openStreams: () => {
      const unused = pipes.openStreams();
      unused.stdout.destroy();
      return { stdout: stream, stderr: unused.stderr };
    },
    drain: async (streams) => {
      end();
      await drainStreams([stream], FILE_DRAIN_MS);
      await drainStreams(streams);
    },
  };
}

function makePipes(): OutputPipes[] {
  const folder = join(tmpdir(), `caisson-pipes-${unusedName()}`);
  const paths = Array.from({ length: MADE_AT_ONCE }, (_, index) => [
    join(folder, `${index}.1`),
    join(folder, `${index}.2`),
  ]);
  const isDone = launchGuard().using(folder);
  try {
    mkdirSync(folder, { mode: 0o700 });
    const made = spawnSync('mkfifo', ['-m', '600', ...paths.flat()], {
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
    });
    if (made.status !== 0)
      throw new SandboxStartError(
        `No pipe could be made in ${folder}: ${made.error?.message ?? 'mkfifo failed'}`,
      );
    return paths.map(openPair);
  } finally {
    if (isRemoved(folder)) isDone();
  }
}

/** A disk that fails once or twice does not cost the run its pipes; the guard removes what is left. */
function isRemoved(folder: string): boolean {
  for (let tries = 0; tries < MAX_TRIES; tries += 1)
    try {
      rmSync(folder, { recursive: true, force: true });
      return true;
    } catch {
      // tried again
    }
  return false;
}

function openPair(paths: readonly string[]): OutputPipes {
  const readFds = paths.map((path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
  const writeFds = paths.map((path) => openSync(path, constants.O_WRONLY));
  return {
    stdoutFd: writeFds[0] ?? -1,
    stderrFd: writeFds[1] ?? -1,
    closeWriteEnds: () => writeFds.forEach((fd) => closeSync(fd)),
    openStreams: () => ({ stdout: readEnd(readFds[0] ?? -1), stderr: readEnd(readFds[1] ?? -1) }),
    drain: drainStreams,
  };
}

function readEnd(fd: number): Readable {
  return new Socket({ fd, readable: true, writable: false });
}
