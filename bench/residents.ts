// Residents beside pools of child processes that isolate nothing: a warm compute, one after another and pipelined; how soon the
// next worker is ready; and what a thousand that nobody has used cost. Needs a build (`npm run build`).
import type { BenchRow } from './bench-row.ts';
import { measureComputes } from './residents/computes.ts';
import { measureDeclared } from './residents/declared.ts';
import { measureRespawn } from './residents/respawn.ts';

export async function run(): Promise<BenchRow[]> {
  return [...(await measureComputes()), await measureRespawn(), ...(await measureDeclared())];
}
