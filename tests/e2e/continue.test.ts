import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer, type ModelServer, type ScriptTurn } from '@caisson/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { createProject, finish, pidsWith, until, type CliRun, type Project } from './project.ts';

const LIMIT_MS = 180_000;
const LINES = 'one\ntwo\nthree\nfour\nfive\n';

/** A runtime of the user's own that cannot resume, and replies with its prompt. */
const ECHO = `
export default {
  name: 'echo',
  command: ({ prompt }) => ({ argv: ['cat'], env: {}, stdin: prompt, files: [] }),
  createStream() {
    const lines = [];
    return { line: (text) => (lines.push(text), []), end: () => ({ kind: 'answered', reply: lines.join('\\n') }) };
  },
};
`;

interface Stage {
  readonly project: Project;
  readonly model: ModelServer;
}

/** Each text makes the agent run its command, and say so. */
async function createStage(commands: Record<string, string>): Promise<Stage> {
  const turnsOf = (text: string, command: string): ScriptTurn[] => [
    { tool: { intent: 'run-command', command } },
    { say: `Said after: ${text}.` },
  ];
  const script = Object.entries(commands).map(([text, command]) => ({
    when: text,
    turns: turnsOf(text, command),
  }));
  const model = await startModelServer({ script });
  onTestFinished(() => model.stop());
  const native = `native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: scripted }`;
  const project = createProject({
    env: { MODEL_KEY: 'scripted-key' },
    config: `runtime: native\nruntimes:\n  ${native}\n  echo: { adapter: ./echo.mjs }\n`,
  });
  project.write('echo.mjs', ECHO);
  project.write('a.txt', LINES);
  project.git('add', '.');
  project.git('commit', '-qm', 'files');
  return { project, model };
}

const firstRequest = ({ model }: Stage, from: number): string =>
  JSON.stringify(model.modelRequests()[from]?.body);

function resultOf(cli: CliRun): DispatchResult {
  if (cli.code !== 0) throw new Error(`exit ${cli.code}: ${cli.stdout}${cli.stderr}`);
  return JSON.parse(cli.stdout) as DispatchResult;
}

async function go(project: Project, ...args: string[]): Promise<DispatchResult> {
  return resultOf(await project.caisson(...args, '-o', 'json'));
}

const diffOf = async (project: Project, run: string): Promise<string> =>
  (await project.caisson('diff', run)).stdout;

const readFrom = (project: Project, path: string): string => readFileSync(join(project.root, path), 'utf8');

test(
  'a conversation over four runs has all of its work, and what the person changed, applied or not',
  { timeout: LIMIT_MS },
  async () => {
    const stage = await createStage({
      'first thing': 'sed -i s/one/ONE/ a.txt; echo made > made.txt',
      'second thing': 'cat mine.txt a.txt > seen.txt',
      'third thing': 'echo third > third.txt',
      'fourth thing': 'cp a.txt last.txt',
    });
    const { project, model } = stage;
    const first = await project.run('do the first thing');
    project.write('a.txt', LINES.replace('five', 'FIVE'));
    project.write('mine.txt', 'mine\n');
    let requests = model.modelRequests().length;
    const unnamed = await project.caisson('continue', 'now the second thing', '-o', 'json');
    expect(unnamed.stderr).toContain(`continues ${first.runId} (done: `);
    const second = resultOf(unnamed);
    expect(second).toMatchObject({ status: 'done', reply: 'Said after: second thing.' });
    expect(firstRequest(stage, requests)).toContain('Said after: first thing.');
    expect(firstRequest(stage, requests)).toMatch(/changed since you last saw them: .*a\.txt.*mine\.txt/);
    expect(await go(project, 'show', second.runId)).toMatchObject({ continues: { runId: first.runId } });
    requests = model.modelRequests().length;
    const third = await go(project, 'continue', second.runId.slice(-6), 'and the third thing');
    expect(firstRequest(stage, requests)).toContain('Said after: first thing.');
    expect(firstRequest(stage, requests).split('changed since you last saw')).toHaveLength(2); // of the second run
    // The last patch has the work of all, fits the present files, and nothing of the person's is in it.
    const diff = await diffOf(project, third.runId);
    expect([...diff.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, name]) => name)).toEqual([
      ...['a.txt', 'made.txt', 'seen.txt', 'third.txt'],
    ]);
    const applied = await project.caisson('apply', third.runId);
    expect([applied.code, readFrom(project, 'a.txt')]).toEqual([0, 'ONE\ntwo\nthree\nfour\nFIVE\n']);
    expect(readFrom(project, 'seen.txt')).toBe(`mine\n${readFrom(project, 'a.txt')}`);
    expect((await project.events(third.runId)).map(({ type }) => type)).toContain('run.applied');
    expect((await project.caisson('verify', third.runId)).code).toBe(0);
    // A change to the very line that the agent changed is no conflict once its work was applied.
    project.write('a.txt', readFrom(project, 'a.txt').replace('ONE', 'mine now'));
    const fourth = await go(
      project,
      'continue',
      third.runId,
      'and the fourth thing',
      '--verify',
      'cat last.txt',
    );
    expect(fourth.result?.verify).toMatchObject({ passed: true });
    expect((await diffOf(project, fourth.runId)).match(/^\+.*$/gm)).toEqual([
      ...['+++ b/last.txt', '+mine now', '+two', '+three', '+four', '+FIVE'],
    ]);
  },
);

test(
  'what cannot be continued is refused with the reason and the way out, and leaves nothing behind',
  { timeout: LIMIT_MS },
  async () => {
    const { project } = await createStage({ wait: 'until [ -e go ]; do sleep 0.05; done' });
    const refused = async (...args: string[]): Promise<string> => {
      const before = await snapshot(project);
      const { code, stdout, stderr } = await project.caisson('continue', ...args);
      expect([stdout, await snapshot(project)]).toEqual(['', before]);
      return `${code} ${stderr.trim()}`;
    };
    expect(await refused('more')).toMatch(/^2 error: no run of this project has ended.*caisson run/);
    project.write('mine.txt', 'mine\n');
    const change = ['--', 'sh', '-c', 'sed -i s/one/ONE/ a.txt'];
    const plain = await project.run(...change);
    expect(await refused(plain.runId)).toMatch(/^2 error: run_\w+ is a run, and the text is missing/);
    expect(await refused('more')).toMatch(/^1 error: \S+ ran a command, .*--runtime NAME/);
    expect(await refused('latest', 'more', '--runtime', 'native', '--workspace', 'in-place')).toMatch(
      /^1 error: the work of \S+ is not in these files.*caisson apply run_/,
    );
    expect(await refused('latest', 'more', '--runtime', 'native', '--workspace', 'empty')).toMatch(
      /^2 error: \S+ worked in a workspace of kind worktree.*Leave out --workspace/,
    );
    project.write('a.txt', LINES.replace('one', 'uno'));
    expect(await refused('latest', 'more', '--runtime', 'native')).toMatch(
      /^1 error: what \S+ did and what you changed since conflict in: a\.txt .*--leave-conflicts/,
    );
    // The remedy is one: with the work in the files, markers and all, the person's changes count.
    await project.caisson('apply', plain.runId, '--leave-conflicts', '--force');
    expect(readFrom(project, 'a.txt')).toContain('<<<<<<<');
    expect(
      resultOf(await project.caisson('continue', 'latest', 'go on', '--runtime', 'echo', '-o', 'json')),
    ).toMatchObject({ status: 'done' });
    // Its patch is in the store, so a checkpoint is not needed; without what it began with there is nothing to merge.
    const other = await project.run('--', 'sh', '-c', 'echo other > other.txt');
    for (const ref of refsOf(project)) project.git('update-ref', '-d', ref);
    project.write('a.txt', LINES);
    project.write('mine.txt', 'other\n');
    project.git('gc', '-q', '--prune=now');
    expect(await refused(other.runId, 'more', '--runtime', 'native')).toMatch(
      /^1 error: the work of \S+ is gone.*caisson run/,
    );
    await project.caisson('forget', other.runId);
    expect(await refused(other.runId, 'more')).toMatch(/^1 error: \S+ was forgotten/);
    const asking = await project.run(
      '--',
      'sh',
      '-c',
      `echo '{"question":"Which?"}' > .caisson/needs_input.json`,
    );
    expect(await refused('more')).toMatch(/^1 error: \S+ waits for the answer .*caisson answer run_/);
    const running = finish(project.start('run', '--workspace', 'in-place', 'wait'));
    const runId = await until('it runs', async () => {
      const rows = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as DispatchResult[];
      return rows.find(({ status, runId: id }) => status === 'running' && id !== asking.runId)?.runId;
    });
    expect(await refused(runId, 'more')).toMatch(/^1 error: \S+ has not ended.*caisson send run_/);
    project.write('go', '');
    expect((await running).code).toBe(0);
  },
);

/** Everything that a refusal must not change. */
async function snapshot(project: Project): Promise<unknown> {
  const state = join(project.root, '.caisson');
  const list = (folder: string) =>
    existsSync(join(state, folder)) ? readdirSync(join(state, folder)).toSorted() : [];
  return {
    runs: (await project.caisson('runs', '-o', 'json')).stdout.match(/run_\w+/g),
    refs: refsOf(project),
    files: project.git('status', '--short'),
    objects: project.git('count-objects'),
    left: [list('worktrees'), list('tmp').filter((name) => name !== 'apply.lock')],
  };
}

const refsOf = (project: Project): string[] =>
  project.git('for-each-ref', '--format=%(refname)', 'refs/caisson').split('\n').filter(Boolean);

test(
  'one run is continued twice at once, in place, in the background, and by an agent that cannot see its conversation',
  { timeout: LIMIT_MS },
  async () => {
    const stage = await createStage({
      begin: 'echo begun > begun.txt',
      left: 'test -e begun.txt && echo left > left.txt',
      right: 'test -e begun.txt && echo right > right.txt',
      here: 'echo here >> here.txt',
    });
    const { project, model } = stage;
    const first = await project.run('begin it', '--branch', 'work');
    const [left, right] = await Promise.all([
      go(project, 'continue', first.runId, 'go left', '--branch', 'left'),
      go(project, 'continue', first.runId, 'go right', '--branch', 'right'),
    ]);
    expect([left.branch?.status, right.branch?.status]).toEqual(['created', 'created']);
    const filesOn = (branch: string) => project.git('ls-tree', '--name-only', branch).match(/\w+(?=\.txt)/g);
    expect(filesOn('left')).toEqual(['a', 'begun', 'left']);
    expect(filesOn('right')).toEqual(['a', 'begun', 'right']);
    // A retry in another conversation begins as the run that it repeats did, however often.
    const repeated = await go(project, 'retry', left.runId, '--runtime', 'echo', '--branch', 'again');
    expect(repeated.reply).toMatch(/begin it[^]*go left$/);
    expect(repeated.reply).not.toContain('Said after: left');
    await go(project, 'retry', repeated.runId, '--branch', 'once-more');
    expect([filesOn('again'), filesOn('once-more')]).toEqual([
      ['a', 'begun'],
      ['a', 'begun'],
    ]);
    const resumed = await go(project, 'retry', right.runId, '--branch', 'resumed');
    expect([resumed.status, filesOn('resumed')]).toEqual(['done', ['a', 'begun', 'right']]);
    // The branch of the run that is continued moves with it.
    const moved = await go(project, 'continue', first.runId, 'go left');
    expect(moved.branch).toMatchObject({ name: 'work', status: 'created' });
    expect(filesOn('work')).toEqual(['a', 'begun', 'left']);
    // Unless the person works on it now.
    project.git('checkout', '-q', 'work');
    const beside = await project.caisson('continue', first.runId, 'go left', '-o', 'json');
    expect(beside.stderr).toContain('The branch work is checked out');
    expect(resultOf(beside).branch).toBeUndefined();
    project.git('checkout', '-q', '-');
    // Another runtime has no session of this one.
    const told = await go(
      project,
      'continue',
      first.runId,
      'what was said?',
      '--runtime',
      'echo',
      '--branch',
      'told',
    );
    expect(told.reply).toMatch(
      /cannot see[^]*Task:\n {4}begin it\nReply:\n {4}Said after: begin\.[^]*what was said\?/,
    );
    const detached = await project.caisson(
      'continue',
      first.runId,
      'go right',
      '--detach',
      '--branch',
      'later',
    );
    const [runId = ''] = /run_\w+/.exec(detached.stdout) ?? [];
    await project.caisson('logs', runId, '-f');
    expect(filesOn('later')).toEqual(['a', 'begun', 'right']);
    const inPlace = await project.run('do it here', '--workspace', 'in-place');
    const requests = model.modelRequests().length;
    await go(project, 'continue', inPlace.runId, 'again here');
    expect(readFrom(project, 'here.txt')).toBe('here\nhere\n');
    expect(firstRequest(stage, requests)).toContain('do it here');
  },
);

test(
  'a retry takes another task, model and runtime; --interactive asks after each ending, and only a person',
  { timeout: LIMIT_MS },
  async () => {
    const stage = await createStage({
      'the old task': 'true',
      'the new task': 'true',
      'one more': 'echo more > more.txt',
    });
    const { project, model } = stage;
    const first = await project.run('the old task', '--max-tokens', '90000');
    const requests = model.modelRequests().length;
    const again = await go(
      project,
      'retry',
      first.runId,
      'the new task',
      '--model',
      'other',
      '--max-turns',
      '9',
    );
    expect(again.reply).toBe('Said after: the new task.');
    expect(firstRequest(stage, requests)).toMatch(/"model":"other"/);
    expect(again.result?.policy.grant.budget).toEqual({ tokens: 90_000, turns: 9 });
    expect((await go(project, 'retry', first.runId, '--runtime', 'echo')).reply).toBe('the old task');
    const alone = await project.caisson('run', '--interactive', 'the old task');
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('needs a person at a terminal')]);
    const command = await project.caisson('run', '--interactive', '--', 'true');
    expect([command.code, command.stderr]).toEqual([2, expect.stringContaining('a command reads none')]);
    await project.trust();
    const terminal = openTerminal(project, ['run', '--interactive', 'the old task']);
    await until('the first question', () => terminal.screen().includes('What next?'), 60_000);
    terminal.type('one more\n');
    await until('the second question', () => terminal.screen().split('What next?').length === 3, 60_000);
    expect(terminal.screen()).toContain('Said after: one more.');
    expect(terminal.screen()).toMatch(/go on: caisson continue run_\w+ "…"/);
    terminal.type('\n');
    expect(await terminal.ended).toBe(0);
    const shown = await go(project, 'show', 'latest');
    const dropped = openTerminal(project, ['continue', '--interactive', 'one more']);
    await until('it asks', () => dropped.screen().includes('What next?'), 60_000);
    const hosts = pidsWith('continue --interactive one more');
    dropped.close();
    await until('nobody waits for an answer', () => hosts.every((pid) => !existsSync(`/proc/${pid}`)));
    await project.caisson('forget', 'latest');
    expect(shown.continues?.runId).toMatch(/^run_/);
    // A run that was forgotten is not the one to go on with.
    expect((await project.caisson('forget', shown.runId)).code).toBe(0);
    const next = await go(project, 'continue', 'the new task');
    expect((await go(project, 'show', next.runId)).continues?.runId).toBe(shown.continues?.runId);
  },
);
