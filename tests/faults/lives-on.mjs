// A program that has a run and lives on: prints the run when it has ended, and closes when its stdin does.
import { createCaisson } from 'caisson';

const caisson = await createCaisson({ cwd: process.argv[2] });
const { runId, ended } = await caisson.dispatch({ runtime: 'command', argv: ['true'] });
await ended;
process.stdout.write(`${runId}\n`);
process.stdin.resume().on('end', () => void caisson.close());
