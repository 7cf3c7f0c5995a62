const BLOCK_BYTES = 512;

/** A hard limit that is lower already stays: only root could raise it. */
const LIMITED =
  'hard=$(ulimit -H -f); if [ "$hard" = unlimited ] || [ "$1" -le "$hard" ]; then ulimit -f "$1" || exit; fi; shift; exec "$@"';

/** The program, so that the kernel lets it write no larger file. */
export function limitFileSize(argv: readonly string[], maxBytes: number): string[] {
  return ['/bin/sh', '-c', LIMITED, 'sh', String(Math.ceil(maxBytes / BLOCK_BYTES)), ...argv];
}
