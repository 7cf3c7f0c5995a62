// Leaves a grandchild in its own session, prints its pid and exits at once.
import { spawn } from 'node:child_process';
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)'], {
  detached: true,
  stdio: 'ignore',
});
child.unref();
process.stdout.write(`${JSON.stringify({ detached: child.pid })}\n`);
