// Node gives a child sockets where a shell would give it pipes, and a socket cannot be opened by name: then `echo oops
// >/dev/stderr`, common in build scripts, fails inside. The launch helper makes real pipes.
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { SandboxSpec } from './contract.ts';
import { drainStreams } from './drain.ts';
import { launchHelper, type PipeEnds } from './launch-helper.ts';
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

/** Both pipes, for one sandbox, or a file and a pipe; nothing of them is left on the disk. */
export async function createOutputPipes({
  stdoutFolder,
}: Pick<SandboxSpec, 'stdoutFolder'>): Promise<OutputPipes> {
  const pipes = describePipes(await launchHelper().makePipes());
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

function describePipes({ readFds, writeFds }: PipeEnds): OutputPipes {
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
