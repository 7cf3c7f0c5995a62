/** Starts one child process with exactly the environment and the pipes that it is given. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

import { CaissonError } from '@caisson/protocol';

export interface StartOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** The child's whole environment. Default: a fixed system PATH and nothing else. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written and closed. Without it the child reads end-of-file at once. */
  readonly stdin?: Buffer | string;
  /** Written to descriptor 3 and closed: no other process can read it, and it is in no argument or variable. */
  readonly secret?: string;
  /** Ends the whole group also when this process is killed: a shell beside it waits for that. Default false. */
  readonly endsWithUs?: boolean;
}

/** The program could not be started at all; nothing ran. */
export class CommandStartError extends CaissonError {
  readonly code = 'COMMAND_START_FAILED';
}

/** The environment of a command when its caller gives none. */
export const MINIMAL_COMMAND_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
};

/** The descriptor at which a child finds {@link BoundedCommandOptions.secret}. */
export const SECRET_FD = 3;
/** The descriptor at which the watch beside a child reads end-of-file when we are gone. */
export const LIFE_FD = 4;

/** Resolves once it runs. With `detached` it has its own session and process group. */
export function startChild(options: StartOptions, detached: boolean): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => reject(startError(options, cause));
    try {
      const { file, args } = options.endsWithUs === true ? besideWatch(options) : options;
      const child = spawn(file, args, {
        cwd: options.cwd,
        env: { ...(options.env ?? MINIMAL_COMMAND_ENV) },
        detached,
        shell: false,
        stdio: [
          options.stdin === undefined ? 'ignore' : 'pipe',
          ...(['pipe', 'pipe'] as const),
          options.secret === undefined ? 'ignore' : 'pipe',
          ...(options.endsWithUs === true ? (['pipe'] as const) : []),
        ],
      });
      child.once('error', fail);
      // `spawn` comes before any byte, so that listeners added by the waiter miss nothing.
      child.once('spawn', () => resolve(child));
    } catch (error) {
      fail(error);
    }
  });
}

function startError(options: StartOptions, cause: unknown): CommandStartError {
  const detail = cause instanceof Error ? cause.message : String(cause);
  if (options.cwd !== undefined && !existsSync(options.cwd)) {
    return new CommandStartError(
      `Could not start ${options.file}: its folder ${options.cwd} does not exist.`,
      {
        cause,
        remedy: 'Create the folder or name another one.',
      },
    );
  }
  return new CommandStartError(`Could not start ${options.file}: ${detail}.`, {
    cause,
    remedy: `Check that ${options.file} is installed, executable and on the PATH that was passed.`,
  });
}

/**
 * Our end of the pipe closes with us, however we end. Git removes its locks when it is asked to stop; who does not stop is
 * killed. The watch is part of the group, and goes with it when the program has ended.
 */
const WATCH = `(trap '' TERM; cat <&${LIFE_FD}; kill -s TERM -- -$$; sleep 2; kill -s KILL -- -$$) >/dev/null 2>&1 </dev/null ${SECRET_FD}<&- & exec ${LIFE_FD}<&-; exec "$@"`;

function besideWatch({ file, args }: StartOptions): Pick<StartOptions, 'file' | 'args'> {
  return { file: '/bin/sh', args: ['-c', WATCH, 'sh', file, ...args] };
}
