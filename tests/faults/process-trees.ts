/** Random process trees as shell programs: each proves that it ran, and each tries to be missed by a kill. */

/** A small seeded generator, so that a failing tree can be grown again. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A shell program that starts up to a dozen processes in the ways that escape a process-group kill, each sleeping
 * `mark` seconds, and touches `ready` once all of them are started.
 */
export function growTree(random: () => number, mark: string, ready: string): string {
  const ways = [
    `setsid sleep ${mark} &`,
    `nohup sleep ${mark} >/dev/null 2>&1 &`,
    `(setsid sh -c 'sleep ${mark} & exec sleep ${mark}' &)`,
    `(sh -c 'trap "" TERM INT HUP; sleep ${mark}' &)`,
    `setsid sh -c 'trap "" TERM; (setsid sleep ${mark} &) ; sleep ${mark}' >/dev/null 2>&1 </dev/null &`,
    `perl -e 'exit if fork; setpgrp; exit if fork; chdir "/"; close STDIN; sleep ${mark}' &`,
    `sleep ${mark} &\ndisown`,
    `sh -c 'exec 3>&1; sleep ${mark} >&3' &`,
  ];
  const count = 1 + Math.floor(random() * 6);
  const chosen = Array.from({ length: count }, () => ways[Math.floor(random() * ways.length)] ?? ways[0]);
  const guard = random() < 0.5 ? 'trap "" TERM INT; ' : '';
  return `${guard}\n${chosen.join('\n')}\ntouch ${ready}\nsleep ${mark}`;
}
