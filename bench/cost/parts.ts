/** The parts of a run's cost, in the order of the table. */
export const PARTS = ['host', 'worker', 'helpers', 'bubblewrap', 'relay', 'git', 'agent'] as const;
export type Part = (typeof PARTS)[number];

const PROGRAMS: readonly (readonly [Part, RegExp])[] = [
  ['host', /cost\/host\.ts|caisson\.js/],
  ['worker', /worker\.mjs|start\.mjs/],
  ['bubblewrap', /^(\S*\/)?bwrap\b/],
  // Its launch helper, and what joins and leaves groups; the gate becomes the agent.
  ['helpers', /^\/bin\/sh -c .*caisson-|^\S*perl -e /s],
  ['relay', /inside\.pl|relay\.mjs/],
  ['git', /^(\S*\/)?git\b/],
];

/** Which part a program belongs to, by its command line. What Caisson did not bring is the agent's. */
export function partOf(commandLine: string): Part {
  return PROGRAMS.find(([, pattern]) => pattern.test(commandLine))?.[0] ?? 'agent';
}
