// The last step before the program: a shell inside the finished sandbox prints `ready`, waits for `go` and becomes the
// program.
//
// bubblewrap's own `--die-with-parent` is armed in two processes at two moments, and a kill in between leaves a tree
// that nothing ever ends (17 of 60 launches, measured, with the launcher killed during the mounts). The start gate
// waits until init sleeps in its wait, which happens only once it is armed, and reports then. An answer proves that the
// launcher's own thread was alive after that, so both were armed in time; without one the program never starts. A
// successful write would prove less: a dying launcher's other threads keep the pipe open for a while. Also, a resolved
// launch has finished its mounts, and its program exists.
import type { Duplex } from 'node:stream';
import { SandboxSpecError } from './errors.ts';

/** A POSIX shell can only name descriptors of one digit. */
const HIGHEST_SHELL_FD = 9;

export type GateWord = 'ready' | 'missing';

/**
 * The command line that waits at the start gate and then becomes `argv`, with the same pid and without the gate's
 * descriptor.
 */
export function waitAtGate(gateFd: number, argv: readonly string[]): string[] {
  if (gateFd > HIGHEST_SHELL_FD) {
    throw new SandboxSpecError(
      `Only ${HIGHEST_SHELL_FD - 3} extra descriptors can be passed; ${gateFd - 3} were asked for.`,
    );
  }
  const script = [
    `command -v "$1" >/dev/null || { echo missing >&${gateFd}; exit 127; }`,
    'until read -r stat </proc/1/stat && case $stat in *") S "*) true ;; *) false ;; esac; do :; done',
    `echo ready >&${gateFd} && read -r word <&${gateFd} && [ "$word" = go ] || exit 125`,
    `unset stat word; exec "$@" ${gateFd}>&-`,
  ].join('\n');
  return ['/bin/sh', '-c', script, 'caisson-gate', ...argv];
}

/** The first word of the start gate, or `null` when it closed silently. */
export function readGateWord(gate: Duplex): Promise<GateWord | null> {
  return new Promise((resolve) => {
    let text = '';
    gate.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.endsWith('\n')) resolve(text.trim() === 'ready' ? 'ready' : 'missing');
    });
    gate.once('error', () => resolve(null));
    gate.once('close', () => resolve(null));
    gate.once('end', () => resolve(null));
  });
}

/** Lets the program start. */
export function openGate(gate: Duplex): void {
  gate.end('go\n');
}
