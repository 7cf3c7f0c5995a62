/**
 * Runs inside the sandbox if there is no Perl (see inside.pl), between an agent program and the worker's socket.
 *   node tool-shim.mjs gate SOCKET PEER [SECONDS]   one tool call on stdin; exit 0 allows it, 2 denies it (why: stderr)
 *   node tool-shim.mjs mcp SOCKET PEER              an MCP stdio server: every byte goes to the socket and back PEER is
 *   `PID:DEVICE:INODE`. Node cannot ask the kernel which process listens, as inside.pl does; it checks that the socket
 *   is the expected file. A gate starts once per tool call, so this file imports nothing that is slow to load. Every
 *   error in a gate is a denial: some programs treat every exit code except 2 as a yes, and a hook that takes too long,
 *   too.
 */
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname } from 'node:path';

const DENIED = 2;
/** The programs' own hooks give up after 330 s. */
const LIMIT_S = 320;
const [kind = '', socketPath = '', peer = '', seconds] = process.argv.slice(2);

/** A socket's path may have at most 107 bytes; relative to its own folder any path works. */
function reach() {
  process.chdir(dirname(socketPath));
  const { dev, ino } = statSync(basename(socketPath), { bigint: true });
  if (!peer.endsWith(`:${dev}:${ino}`)) throw new Error('it was replaced: another socket is there');
  return connect(basename(socketPath));
}

function deny(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(DENIED);
}

function gate(): void {
  process.on('uncaughtException', (error) => deny(`The gate did not work: ${error.message}`));
  setTimeout(() => deny('The gate did not answer in time.'), Number(seconds ?? LIMIT_S) * 1000);
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'])
    process.on(signal, () => deny('The gate was stopped.'));
  const call: unknown = JSON.parse(readFileSync(0, 'utf8'));
  const socket = reach();
  let answer = '';
  socket.setEncoding('utf8');
  socket.on('error', (error) => deny(`The gate did not answer: ${error.message}`));
  socket.on('data', (chunk: string) => {
    answer += chunk;
  });
  socket.on('end', () => {
    if (answer === 'allow\n') process.exit(0);
    deny(answer.replace(/^deny /, '').trimEnd() || 'The gate did not answer.');
  });
  socket.write(`${JSON.stringify({ gate: call })}\n`);
}

function mcp(): void {
  const socket = reach();
  socket.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  socket.on('close', () => process.exit(0));
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
}

if (kind === 'gate') gate();
else mcp();
