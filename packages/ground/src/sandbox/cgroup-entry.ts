// How a program joins its cgroups before its first instruction: a shell moves itself and then becomes the program.
//
// Moving another process, or a whole process in one write, takes a lock of the whole kernel and waits 5 to 20 ms for
// every CPU. A single thread that moves itself (`0` into `tasks`, cgroup v1) needs no lock: half a millisecond. cgroup
// v2 has no such way and must wait.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const JOIN_THEN_BECOME = `
while [ "$1" != -- ]; do
  echo 0 > "$1" || { echo "caisson: the cgroup $1 could not be joined" >&2; exit 97; }
  shift
done
shift
exec "$@"`;

/** The command line that joins the cgroups and then becomes `argv`, with the same pid. */
export function enterCgroups(procsFiles: readonly string[], argv: readonly string[]): string[] {
  if (procsFiles.length === 0) return [...argv];
  return ['/bin/sh', '-c', JOIN_THEN_BECOME, 'caisson-join', ...procsFiles.map(fastestDoor), '--', ...argv];
}

function fastestDoor(procsFile: string): string {
  const tasks = join(dirname(procsFile), 'tasks');
  return existsSync(tasks) ? tasks : procsFile;
}
