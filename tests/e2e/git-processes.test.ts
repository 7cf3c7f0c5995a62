/** How many git processes a run with a worktree starts, counted by a trace of the whole run. */
import { expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';
import { traceCaisson } from './traced-run.ts';

const MOST = 8;
const EDIT = 'echo new > new.txt; echo more >> src/code.txt; echo kept > ignored.log';

/** The command of every git that a run started, in order. */
function traceRun(project: Project): string[] {
  const { log } = traceCaisson(project, { calls: 'execve' }, 'run', '--', 'sh', '-ec', EDIT);
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
  const started = traceRun(project);
  expect(started).toContain('checkout-index'); // the trace saw the run
  expect(started.length, started.join(' ')).toBeLessThanOrEqual(MOST);
  expect(project.git('fsck', '--strict', '--no-dangling')).toBe('');
});
