/** A system's Node that is too old starts the clone's own: a user sees one command, and kills one. */
import { spawn, type ChildProcess } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { BIN, createProject, finish, pidsWith, until, type Project } from './project.ts';

const PRETEND_OLD = `data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })",
)}`;

function startOld({ root, env }: Project, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, ['--import', PRETEND_OLD, BIN, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('a run whose command is killed with SIGKILL leaves nothing running, also under a Node that is too old', async () => {
  const project = createProject();
  const mark = `600.${process.pid}`;
  const marked = (): number[] => pidsWith(`sleep ${mark}`);
  onTestFinished(() => marked().forEach((pid) => process.kill(pid, 'SIGKILL')));
  const command = startOld(project, 'run', '--no-daemon', '--', 'sh', '-c', `sleep ${mark}; true`);
  await until('the sandbox, beside the two of Node', () => marked().length > 2);
  command.kill('SIGKILL');
  await until('the end of all', () => marked().length === 0);
  expect((await project.caisson('runs', '-o', 'json')).stdout).toContain('"interrupted"');
}, 60_000);

it('under a Node that is too old exit codes, output and the environment of the agent are the same', async () => {
  const project = createProject();
  const { code, stdout } = await finish(startOld(project, 'run', '-q', '--', 'sh', '-c', 'env; exit 3'));
  const direct = await project.caisson('run', '-q', '--', 'sh', '-c', 'env; exit 3');
  expect([code, stdout.includes('LAUNCHED')]).toEqual([direct.code, false]);
}, 60_000);
