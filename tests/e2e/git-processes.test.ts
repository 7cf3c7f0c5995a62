/** How many git processes a run with a worktree starts, counted by a trace of the whole run. */
import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, ROOT, type Project } from './project.ts';
import { traceCaisson } from './traced-run.ts';

const MOST = 8;
const EDIT = 'echo new > new.txt; echo more >> src/code.txt; echo kept > ignored.log';

const COMMAND_RUN = ['--', 'sh', '-ec', EDIT];

/** The command of every git that a run started. */
function traceRun(project: Project, ...args: string[]): string[] {
  const { log } = traceCaisson(project, { calls: 'execve', isByProcess: true }, 'run', ...args);
  const started = log.match(/execve\("[^"]*\/git", \[.*= 0$/gm) ?? [];
  return started.map((line) => COMMAND.exec(line)?.[1] ?? line);
}

/** What follows the settings. */
const COMMAND = /"--no-pager", (?:"-c", "[^"]*", )*"([a-z-]+)"/;

function createRepository(): Project {
  const project = createProject();
  project.write('src/code.txt', 'code\n');
  project.write('package.json', '{}\n');
  project.write('.gitignore', '*.log\n');
  project.git('add', '.');
  project.git('commit', '-qm', 'files');
  return project;
}

it.each([
  ['with loose objects', () => undefined],
  ['whose commit is in a pack', (project: Project) => project.git('gc', '-q')],
  [
    'with files that are not committed',
    (project: Project) => {
      project.git('gc', '-q');
      project.write('src/code.txt', 'changed\n');
      project.write('untracked.txt', 'untracked\n');
    },
  ],
])('a run that changes files starts few git processes in a repository %s', (_what, change) => {
  const project = createRepository();
  change(project);
  const started = traceRun(project, ...COMMAND_RUN);
  expect(started).toContain('checkout-index'); // the trace saw the run
  expect(started.length, started.join(' ')).toBeLessThanOrEqual(MOST);
  expect(project.git('fsck', '--strict', '--no-dangling')).toBe('');
});

it.each([
  ['with a branch', ['--branch', 'work', ...COMMAND_RUN], 'work:new.txt'],
  ['of an agent', ['--runtime', 'stranger', 'make notes.txt'], null],
])('so does a run %s', async (_what, args, made) => {
  const project = createRepository();
  copyFileSync(join(ROOT, 'tests/e2e/fixtures/unasking-agent.mjs'), join(project.root, 'stranger.mjs'));
  chmodSync(join(project.root, 'stranger.mjs'), 0o755);
  project.write(
    'caisson.yaml',
    'runtimes: { stranger: { bin: ./stranger.mjs, settings: { protocol: acp } } }\n',
  );
  project.git('add', '.');
  project.git('commit', '-qm', 'agent');
  await project.trust();
  const started = traceRun(project, ...args);
  expect(started).toContain('checkout-index');
  expect(started.length, started.join(' ')).toBeLessThanOrEqual(MOST);
  expect(project.git('show', made ?? `${lastCheckpoint(project)}:notes.txt`)).toMatch(/^(new|made)\n$/);
});

function lastCheckpoint(project: Project): string {
  const refs = project.git('for-each-ref', '--format=%(refname)', 'refs/caisson/*/1');
  return refs.trim();
}
