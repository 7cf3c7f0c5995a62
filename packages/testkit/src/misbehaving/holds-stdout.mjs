// Exits, but a child in its own session keeps the stdout pipe open.
import { spawn } from 'node:child_process';
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)'], {
  detached: true,
  stdio: ['ignore', 'inherit', 'inherit'],
});
child.unref();
process.stdout.write(`${JSON.stringify({ holder: child.pid })}\n`);
