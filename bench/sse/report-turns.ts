// Loaded into another process with `--import`: on SIGUSR2 it writes how long the turns of its event loop were since the last
// one, to the file that CAISSON_BENCH_TURNS names.
import { renameSync, writeFileSync } from 'node:fs';

import { watchTurns } from '../daemon/loop-turns.ts';

const file = process.env['CAISSON_BENCH_TURNS'] ?? '';
let watch = watchTurns();

process.on('SIGUSR2', () => {
  const turns = watch.stop().map(({ cpuMs }) => cpuMs);
  writeFileSync(`${file}.new`, JSON.stringify(turns));
  renameSync(`${file}.new`, file);
  watch = watchTurns();
});
