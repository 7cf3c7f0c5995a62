// Starts up to MAX children (first argument, default 64) that do nothing for a minute. Bounded: it can be outlived.
import { spawn } from 'node:child_process';
const max = Number(process.argv[2] ?? 64);
let refused = 0;
for (let index = 0; index < max; index += 1) {
  try {
    spawn('sleep', ['60'], { stdio: 'ignore' }).on('error', () => (refused += 1));
  } catch {
    refused += 1; // spawn throws synchronously where the limit hits inside uv
  }
}
setImmediate(() => process.stdout.write(`asked for ${max}, refused so far ${refused}\n`));
setInterval(() => refused, 60_000);
