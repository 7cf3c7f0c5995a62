// What a dispatch costs, from the command line and inside one host. Needs a build (`npm run build`).
import type { BenchRow } from './bench-row.ts';
import { measureCommandLine } from './dispatch/command-line.ts';
import { measureInHost } from './dispatch/in-host.ts';
import { measureThroughput } from './dispatch/throughput.ts';

export async function run(): Promise<BenchRow[]> {
  return [...(await measureCommandLine()), ...(await measureInHost()), ...(await measureThroughput())];
}
