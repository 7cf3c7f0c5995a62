/** A real ssh-agent with keys of its own, for runs that it signs. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { until, type Project } from './project.ts';

export interface SigningAgent {
  readonly socket: string;
  /** Makes a key and gives it to the agent; returns its fingerprint. */
  add(comment: string, type?: string): string;
  remove(comment: string): void;
  lock(isLocked: boolean): void;
  stop(): Promise<void>;
}

export async function startSigningAgent(): Promise<SigningAgent> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-agent-'));
  const socket = join(folder, 'agent.sock');
  const child = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await until('the socket of the agent', () => existsSync(socket));
  const askpass = join(folder, 'askpass');
  writeFileSync(askpass, '#!/bin/sh\necho word\n', { mode: 0o700 });
  const env = { ...process.env, SSH_AUTH_SOCK: socket, SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force' };
  const call = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return {
    socket,
    add(comment, type = 'ed25519') {
      const file = join(folder, comment);
      call('ssh-keygen', '-q', '-t', type, '-N', '', '-C', comment, '-f', file);
      call('ssh-add', '-q', file);
      rmSync(file); // only the agent has it
      return call('ssh-keygen', '-l', '-f', `${file}.pub`).split(' ')[1] ?? '';
    },
    remove: (comment) => void call('ssh-add', '-q', '-d', join(folder, `${comment}.pub`)),
    lock: (isLocked) => void call('ssh-add', isLocked ? '-x' : '-X'),
    async stop() {
      child.kill();
      await ended;
    },
  };
}

/** Where a key of Caisson's own would be. */
export const keyFile = (project: Project): string =>
  join(project.env['HOME'] ?? '', '.local/share/caisson/keys/signing-key.pem');
