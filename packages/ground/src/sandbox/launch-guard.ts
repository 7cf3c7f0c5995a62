/**
 * A shell that outlives this process by a moment and cleans up after its kill.
 *
 * bubblewrap clones its first child, arms itself to die with us, and only then writes to the eventfd on which the child
 * waits. When we die in between, bubblewrap dies with us and the child, which has the eventfd itself, waits for ever.
 * Nothing of the sandbox has run in it, but it is a process. The child existed before bubblewrap was armed, so a search
 * after our death finds it by the mark of the attempt. The same is true for a folder that we were using just then.
 *
 *   one line, one order:  launching MARK · launched · using FOLDER · used
 *   end of file: we are gone. The folders are removed; processes with the mark of an open launch are killed until a
 *   pass
 *   over all processes finds none. Without an open launch there is nothing to search for.
 */
import { spawn, type ChildProcess } from 'node:child_process';

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

export interface LaunchGuard {
  /**
   * `mark` is `NAME=VALUE` in the environment of the launched program. Returns a function to call once it needs no
   * guard.
   */
  launching(mark: string): () => void;
  /** Removes the folder once we are gone, unless the returned function is called: before the next folder is used. */
  using(folder: string): () => void;
}

let guard: LaunchGuard | undefined;

/** The guard of this process, started with the first call. */
export function launchGuard(): LaunchGuard {
  guard ??= startGuard();
  return guard;
}

function startGuard(): LaunchGuard {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'caisson-launch-guard'], {
    cwd: '/',
    detached: true, // a signal for our own group must not reach the guard
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  leaveUnwatched(shell);
  // A short line fits into the pipe, so it is there when `write` returns.
  const order = (line: string): void => void shell.stdin?.write(`${line}\n`);
  const between = (first: string, last: string): (() => void) => {
    order(first);
    let isOver = false;
    return () => {
      if (!isOver) order(last);
      isOver = true;
    };
  };
  return {
    launching: (mark) => between(`launching ${mark}`, 'launched'),
    // A name of two lines would be two orders.
    using: (folder) => (folder.includes('\n') ? () => {} : between(`using ${folder}`, 'used')),
  };
}

/** Without a shell there is no guard: the next command removes what is left, as before. */
function leaveUnwatched(shell: ChildProcess): void {
  shell.on('error', () => undefined);
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  (shell.stdin as unknown as { unref?(): void } | null)?.unref?.();
}
