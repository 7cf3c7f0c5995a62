/** Random process trees as shell programs: each proves that it ran, and each tries to be missed by a kill. */

/** A small seeded generator, so that a failing tree can be grown again. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  for (let warm = 0; warm < 4; warm += 1) next(); // small seeds begin alike
  return next;
}

export interface Tree {
  readonly program: string;
  /** How many processes with `sleep <mark>` in their command line stand once it is grown. */
  readonly sleepers: number;
}

interface Way {
  readonly line: (mark: string) => string;
  readonly sleepers: number;
}

/** Ways to start a process so that a process-group kill, a SIGTERM or a closed pipe does not reach it. */
const WAYS: readonly Way[] = [
  { line: (mark) => `setsid sleep ${mark} &`, sleepers: 1 },
  { line: (mark) => `nohup sleep ${mark} >/dev/null 2>&1 &`, sleepers: 1 },
  { line: (mark) => `(setsid sh -c 'sleep ${mark} & exec sleep ${mark}' &)`, sleepers: 2 },
  { line: (mark) => `(sh -c 'trap "" TERM INT HUP; sleep ${mark}; :' &)`, sleepers: 2 },
  {
    line: (mark) =>
      `setsid sh -c 'trap "" TERM; (setsid sleep ${mark} &) ; sleep ${mark}; :' >/dev/null 2>&1 </dev/null &`,
    sleepers: 3,
  },
  {
    line: (mark) =>
      `perl -e 'exit if fork; setpgrp; exit if fork; chdir "/"; close STDIN; exec "sleep", "${mark}"' &`,
    sleepers: 1,
  },
  { line: (mark) => `sleep ${mark} &\ndisown`, sleepers: 1 },
  { line: (mark) => `sh -c 'exec 3>&1; exec sleep ${mark} >&3' &`, sleepers: 1 },
  {
    // The environment is cleared, the session left, the parent gone.
    line: (mark) => `(env -i setsid sh -c 'sleep ${mark} & exec sleep ${mark}' >/dev/null 2>&1 &)`,
    sleepers: 2,
  },
];

/**
 * A shell program that starts up to a dozen processes, each sleeping `mark` seconds, and touches `ready` once all of
 * them were asked for.
 */
export function growTree(random: () => number, mark: string, ready: string): Tree {
  const count = 1 + Math.floor(random() * 6);
  const chosen = Array.from({ length: count }, () => WAYS[Math.floor(random() * WAYS.length)]).filter(
    (way) => way !== undefined,
  );
  const guard = random() < 0.5 ? 'trap "" TERM INT' : ':';
  const lines = chosen.map((way) => way.line(mark));
  const sleepers = chosen.reduce((sum, way) => sum + way.sleepers, 1);
  return { program: [guard, ...lines, `touch ${ready}`, `sleep ${mark}`, ':'].join('\n'), sleepers };
}
