import { fileURLToPath } from 'node:url';

/** Tiny agents with one misbehaviour each; start them with `node FILE`. */
export const MISBEHAVING_AGENTS = [
  'busy-loop',
  'eats-memory',
  'exits-zero-on-error',
  'floods-stdout',
  'fork-bomb',
  'forks-and-detaches',
  'holds-stdout',
  'ignores-sigterm',
  'never-ends-a-line',
  'prints-forged-events',
  'reads-stdin',
  'sleeps-forever',
] as const;
export type MisbehavingAgent = (typeof MISBEHAVING_AGENTS)[number];

/** The file of a misbehaving agent. */
export function misbehavingAgent(name: MisbehavingAgent): string {
  return fileURLToPath(new URL(`./misbehaving/${name}.mjs`, import.meta.url));
}
