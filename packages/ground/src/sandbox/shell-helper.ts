// The launch helper where there is no Perl: a shell is the guard, and `mkfifo` makes the pipes in a folder that is removed at
// once. Nothing enters a namespace.
//
//   one line, one order:  launching MARK · launched · using FOLDER · used
//   end of file: we are gone. The folders are removed; processes with the mark of an open launch are killed until a pass
//   over all processes finds none.
import { spawn, spawnSync } from 'node:child_process';
import { constants, mkdirSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unusedName } from '../platform/index.ts';
import { SandboxStartError } from './errors.ts';
import { keepAlive } from './helper-answers.ts';
import type { LaunchHelper, PipeEnds } from './launch-helper.ts';

const SCRIPT = `
marks='' open=0 folders=''
while read -r word value; do
  case $word in
    launching) open=$((open + 1)); marks="\${marks:+$marks
}$value" ;;
    launched) open=$((open - 1)); if [ "$open" -eq 0 ]; then marks=''; fi ;;
    using) folders="$folders
$value" ;;
    used) folders=\${folders%
*} ;;
  esac
done
printf '%s\\n' "$folders" | while IFS= read -r folder; do
  pass=0
  while [ -n "$folder" ] && ! rm -rf -- "$folder" && [ "$pass" -lt 100 ]; do # a process still writes into it
    pass=$((pass + 1))
    sleep 0.02
  done
done
pass=0
while [ "$open" -gt 0 ] && [ "$pass" -lt 100 ]; do
  pass=$((pass + 1))
  found=$(grep -lzsxF -- "$marks" /proc/[0-9]*/environ | cut -d/ -f3)
  if [ -z "$found" ]; then exit 0; fi
  for pid in $found; do kill -9 "$pid" 2>/dev/null; done
  sleep 0.02
done
`;

/** Starting the program that makes them takes longer than making them: a few are made at once. */
const MADE_AT_ONCE = 4;
const MAX_TRIES = 8;

export function startShellHelper(): LaunchHelper {
  const guard = startShellGuard();
  const ready: PipeEnds[] = [];
  return {
    launching: guard.launching,
    makePipes() {
      if (ready.length === 0) ready.push(...makeNamed(guard));
      return Promise.resolve(ready.pop() as PipeEnds);
    },
    enter: (_initPid, mounts) => Promise.resolve({ limitsInotify: false, isMounted: mounts === null }),
    standing: () => 'up',
  };
}

export interface ShellGuard extends Pick<LaunchHelper, 'launching'> {
  /** Removes the folder once we are gone, unless the returned function is called: before the next folder is used. */
  using(folder: string): () => void;
}

export function startShellGuard(): ShellGuard {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'caisson-launch-guard'], {
    cwd: '/',
    detached: true, // a signal for our own group must not reach the guard
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell there is no guard: the next command removes what is left.
  shell.on('error', () => undefined);
  shell.stdin.on('error', () => undefined);
  keepAlive(shell, false);
  // A short line fits into the pipe, so it is there when `write` returns.
  const between = (first: string, last: string): (() => void) => {
    shell.stdin.write(`${first}\n`);
    return once(() => void shell.stdin.write(`${last}\n`));
  };
  return {
    launching: (mark) => between(`launching ${mark}`, 'launched'),
    // A name of two lines would be two orders.
    using: (folder) => (folder.includes('\n') ? () => undefined : between(`using ${folder}`, 'used')),
  };
}

/** Does it the first time it is called. */
export function once(work: () => void): () => void {
  let isOver = false;
  return () => {
    if (!isOver) work();
    isOver = true;
  };
}

function makeNamed(guard: ShellGuard): PipeEnds[] {
  const folder = join(tmpdir(), `caisson-pipes-${unusedName()}`);
  const paths = Array.from({ length: MADE_AT_ONCE }, (_, index) => [
    join(folder, `${index}.1`),
    join(folder, `${index}.2`),
  ]);
  const isDone = guard.using(folder);
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
    return paths.map((pair) => ({
      readFds: pair.map((path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)),
      writeFds: pair.map((path) => openSync(path, constants.O_WRONLY)),
    }));
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
