/**
 * Runs inside the sandbox: listens on loopback, hands every connection to the broker's socket, and runs the
 * command as its child. It knows nothing of what passes through it.
 * usage: relay PORT SOCKET -- COMMAND ARGS…
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const [portText = '', socketPath = '', , file = '', ...args] = process.argv.slice(2);

const server = createServer((inside) => {
  const outside = connect(socketPath);
  inside.pipe(outside);
  outside.pipe(inside);
  const close = (): void => {
    inside.destroy();
    outside.destroy();
  };
  inside.on('error', close);
  outside.on('error', close);
});

server.listen(Number(portText), '127.0.0.1', () => {
  const child = spawn(file, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`cannot start ${file}: ${error.message}\n`);
    process.exit(127);
  });
  child.on('exit', (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
});
