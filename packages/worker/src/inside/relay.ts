/**
 * Runs inside the sandbox if there is no Perl (see inside.pl): listens on loopback, forwards every connection to the
 * broker's socket, and runs the command as its child. It does not interpret the data. usage: relay PORT SOCKET --
 * COMMAND ARGS…
 *
 * The command runs only once the port listens. It has the relay's streams, environment and signals, and its end is the
 * relay's end, at once, with the same code: from outside only the command is visible.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { constants } from 'node:os';
import { pipeline } from 'node:stream';

/** Signals for the command. Others cannot be caught or are handled by the kernel. */
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'] as const;

const [portText = '', socketPath = '', , file = '', ...args] = process.argv.slice(2);

const server = createServer({ allowHalfOpen: true, noDelay: true }, (inside) => {
  const outside = connect({ path: socketPath, allowHalfOpen: true });
  carry(inside, outside);
  carry(outside, inside);
});
server.once('error', (error) => giveUp(`cannot listen on port ${portText}: ${error.message}`, 125));
server.listen(Number(portText), '127.0.0.1', 1024, runCommand);

/** One direction. Its end is passed on alone; a broken connection closes both. */
function carry(from: Socket, to: Socket): void {
  pipeline(from, to, (error) => {
    if (!error) return;
    from.destroy();
    to.destroy();
  });
}

function runCommand(): void {
  // Registered before the command can print; handlers run only once it is started.
  for (const signal of FORWARDED) process.on(signal, () => forward(child, signal));
  // Its own group: an interrupt that reaches ours must not reach the command twice.
  const child = spawn(file, args, { stdio: 'inherit', detached: true });
  child.once('error', (error) => giveUp(`cannot start ${file}: ${error.message}`, 127));
  child.once('exit', (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
}

/** An interrupt is for all of the command's group, as at a terminal. */
function forward(child: ChildProcess, signal: NodeJS.Signals): void {
  if (signal !== 'SIGINT' || child.pid === undefined) child.kill(signal);
  else if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
}

function giveUp(why: string, code: number): void {
  process.stderr.write(`${why}\n`);
  process.exit(code);
}
