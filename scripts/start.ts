// `npm start`: shows what this clone can do on this machine, and says no more than that.
import { spawnSync } from 'node:child_process';

process.stdout.write('Caisson is built. What it finds on this machine (caisson doctor):\n\n');
const doctor = spawnSync('node', ['packages/cli/bin/caisson.js', 'doctor'], { stdio: 'inherit' });
process.stdout.write('\nNext: node packages/cli/bin/caisson.js --help\n');
process.exitCode = doctor.status ?? 1;
