/**
 * Without a PID namespace nothing ends with the worker by itself. A shell that waits for the end of a pipe replaces the
 * worker when both the worker and its host were killed: it kills every process in the launch's cgroup or session group
 * or with its mark, until a pass finds none.
 */
import { spawn } from 'node:child_process';

export interface PlainGuard {
  /** Everything is over: the guard ends without a search. Idempotent. */
  dismiss(): void;
}

const SCRIPT = `
read -r word && exit 0
mark=$1 leader=$2; shift 2
pass=0
while [ "$pass" -lt 100 ]; do
  pass=$((pass + 1))
  found=$(cat "$@" 2>/dev/null; grep -lzsxF -- "$mark" /proc/[0-9]*/environ | cut -d/ -f3)
  if ! kill -9 "-$leader" 2>/dev/null && [ -z "$found" ]; then exit 0; fi
  for pid in $found; do kill -9 "$pid" 2>/dev/null; done
  for file; do # a process that was frozen when the worker died handles its SIGKILL only once it is thawed
    if [ -e "\${file%/*}/freezer.state" ]; then echo THAWED >"\${file%/*}/freezer.state"; fi
  done
  sleep 0.02
done
`;

/** `mark` is `NAME=VALUE` in the environment of the launched program; `leader` began its session. */
export function startPlainGuard(launch: {
  readonly mark: string;
  readonly leader: number;
  readonly procsFiles: readonly string[];
}): PlainGuard {
  const { mark, leader, procsFiles } = launch;
  const files = procsFiles.length === 0 ? ['/dev/null'] : procsFiles;
  const guard = spawn('/bin/sh', ['-c', SCRIPT, 'caisson-guard', mark, String(leader), ...files], {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => undefined); // without a shell there is no guard; the next command sweeps, as before
  guard.stdin.on('error', () => undefined); // it was killed itself, and needs no message
  guard.unref();
  (guard.stdin as unknown as { unref?(): void }).unref?.();
  return { dismiss: () => void guard.stdin.end('done\n') };
}
