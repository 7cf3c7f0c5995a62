import { COMMANDS } from './command-table.ts';
import { runCli } from './run-cli.ts';

process.exitCode = await runCli(process.argv.slice(2), COMMANDS, process);
