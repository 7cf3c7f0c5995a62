/** The bundle of a client, where the daemon that it was chosen for does not answer: nothing but the time differs. */
import { mkdirSync, renameSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { VERSION } from 'caisson';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, type Project } from './project.ts';

const LIMIT_MS = 60_000;

/** A project whose daemon was killed: its socket is there, and nobody listens on it. */
async function leaveSocket(project: Project): Promise<void> {
  const runtime = join(project.root, '.caisson/runtime');
  mkdirSync(runtime, { recursive: true });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(runtime, 'made.sock'), resolve));
  renameSync(join(runtime, 'made.sock'), join(runtime, 'daemon.sock'));
  await new Promise((resolve) => server.close(resolve));
}

describe('a command whose daemon is gone', { timeout: LIMIT_MS }, () => {
  it('carries out a run, lists and shows it', async () => {
    const project = createProject();
    await project.caisson('run', '--', 'true');
    await leaveSocket(project);
    const ran = await project.caisson('run', '--', 'sh', '-c', 'echo out; exit 3');
    expect(ran).toMatchObject({ code: 3, stdout: 'out\n' });
    expect((await project.caisson('runs', '-o', 'json')).stdout).toContain('"exit-code"');
    expect((await project.caisson('status')).code).toBe(1);
    expect(await project.caisson('attach')).toEqual(await project.caisson('attach', '--no-daemon'));
    expect(await project.caisson('branches')).toMatchObject({ code: 0, stdout: 'No branch waits.\n' });
  });

  it('refuses with the words and the exit code of any other', async () => {
    const project = createProject();
    await project.caisson('run', '--', 'true');
    const line = ['run', '--sandbox', 'none', '--network', 'none', '--', 'true'];
    const refused = await project.caisson(...line);
    expect(refused.code).not.toBe(0);
    await leaveSocket(project);
    expect(await project.caisson(...line)).toEqual(refused);
    expect(await project.caisson('show', 'run_none')).toEqual(
      await project.caisson('show', 'run_none', '--no-daemon'),
    );
  });
});

/** Listens where a daemon would, and says that it is one. Resolves to what it was asked. */
async function pretend(project: Project, proof: string): Promise<readonly string[]> {
  const asked: string[] = [];
  const server = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    response.end(JSON.stringify({ version: VERSION, pid: process.pid, hostId: 'host_x', proof }));
  });
  const runtime = join(project.root, '.caisson/runtime');
  mkdirSync(runtime, { recursive: true });
  await new Promise<void>((resolve) => server.listen(join(runtime, 'daemon.sock'), resolve));
  onTestFinished(() => void server.close());
  return asked;
}

describe('what listens in the place of a daemon', { timeout: LIMIT_MS }, () => {
  it.each(['', '0'.repeat(64), 'é'.repeat(64)])(
    'and signs with %j, gets nothing of a command, which goes on without it',
    async (proof) => {
      const project = createProject();
      await project.caisson('run', '--', 'true');
      const asked = await pretend(project, proof);
      const ran = await project.caisson('run', '--', 'echo', 'out');
      expect(ran).toMatchObject({ code: 0, stdout: 'out\n' });
      expect(ran.stderr).toContain('is not a daemon of this state folder; this command goes on without it');
      expect(asked).toEqual(['GET /v1/hello']);
    },
  );
});
