import { expect, it } from 'vitest';
import type { QuestionRow } from '@caisson/engine';
import { createProject, until, type Project } from './project.ts';

const SENTINEL = {
  question: 'Which database?',
  options: ['postgres', 'sqlite'],
  context: { tried: ['mysql'], note: 'line\nbreak' },
  partial_state: { step: 3, files: ['a.ts'] },
};

/** A plain command that asks: what it prints and its exit code do not matter. */
function asking(sentinel: unknown, exitCode = 0): string[] {
  const text = typeof sentinel === 'string' ? sentinel : JSON.stringify(sentinel);
  return ['--', 'sh', '-c', `printf '%s' '${text}' > .caisson/needs_input.json; exit ${exitCode}`];
}

async function questions(project: Project, ...args: string[]): Promise<QuestionRow[]> {
  return JSON.parse((await project.caisson('questions', '-o', 'json', ...args)).stdout) as QuestionRow[];
}

it('a question of a plain command is durable with everything it said, whatever the exit code', async () => {
  const project = createProject();
  const before = Date.now();
  const asked = await project.run(...asking(SENTINEL, 7));
  expect(asked).toMatchObject({ status: 'waiting', cli: { code: 3 } });
  expect(asked.result).toMatchObject({ status: 'needs_input', exitCode: 7, needsInput: SENTINEL });
  const [question, ...others] = await questions(project);
  expect(others).toEqual([]);
  expect(question).toMatchObject({
    runId: asked.runId,
    status: 'open',
    text: SENTINEL.question,
    options: SENTINEL.options,
    context: SENTINEL.context,
    partialState: SENTINEL.partial_state,
  });
  const openForMs = Date.parse(question?.deadlineAt ?? '') - before;
  expect(openForMs).toBeGreaterThan(6.9 * 86_400_000);
  expect(openForMs).toBeLessThan(7.1 * 86_400_000);
  const types = (await project.events(asked.runId)).map((event) => event.type);
  expect(types.indexOf('question.asked')).toBe(types.indexOf('dispatch.needs_input') - 1);
  const shown = await project.caisson('questions');
  expect(shown.stdout).toContain('Which database?');
  expect(shown.stdout).toContain(`caisson answer ${asked.runId}`);
});

/** A runtime of the user's own, so that a prompt is passed: it asks first and prints what it gets then. */
const ADAPTER = `
export default {
  name: 'echo',
  command: ({ prompt }) => ({ argv: ['sh', 'agent.sh', prompt], env: {}, stdin: null, files: [] }),
  createStream() {
    const lines = [];
    return { line: (text) => (lines.push(text), []), end: () => ({ kind: 'answered', reply: lines.join('\\n') }) };
  },
};
`;
const AGENT = `
case "$1" in
  *Answer:*) printf '%s' "$1" ;;
  *) printf '%s' '${JSON.stringify({ ...SENTINEL, context: 'tried mysql' })}' > .caisson/needs_input.json ;;
esac
`;

it('the answer reaches a new run with all that was asked, once, from another host', async () => {
  const project = createProject();
  const asked = await project.run(...asking(SENTINEL));
  // Every call of the CLI is a host of its own: the one that asked is gone.
  const answered = await project.caisson('answer', asked.runId, 'use sqlite', '-o', 'json');
  const next = JSON.parse(answered.stdout) as { runId: string; status: string };
  expect(next.status).toBe('waiting'); // the same command asks again
  expect(next.runId).not.toBe(asked.runId);
  const accepted = (await project.events(next.runId))[0];
  expect(accepted).toMatchObject({ type: 'dispatch.accepted', continues: asked.runId });
  const all = await questions(project, '--all');
  expect(all.find((question) => question.runId === asked.runId)).toMatchObject({
    status: 'answered',
    answer: 'use sqlite',
    continuedBy: next.runId,
  });
  const changed = { status: 'answered', continuedBy: next.runId };
  const list = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { status: string }[];
  expect(list).toMatchObject([
    { runId: next.runId, status: 'waiting' },
    { runId: asked.runId, ...changed },
  ]);
  const shown = await project.caisson('show', asked.runId, '-o', 'json');
  expect(JSON.parse(shown.stdout)).toMatchObject(changed);
  const page = (await project.caisson('show', asked.runId)).stdout;
  expect(page).toMatch(/^answered {2}run_/);
  expect(page).not.toContain('caisson retry');
  const waiting = await project.caisson('runs', '--status', 'waiting');
  expect(waiting.stdout).not.toContain(asked.runId);
  expect((await project.caisson('doctor')).stdout).not.toContain('replay');
  const again = await project.caisson('answer', asked.runId, 'no, postgres');
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('answered already');
  expect(again.stderr).toContain(`caisson retry ${next.runId}`); // which knows the answer
});

it('the continuing agent gets question, options, context, state and answer', async () => {
  const project = createProject({ config: 'runtimes: { echo: { adapter: ./adapter.mjs } }\n' });
  project.write('adapter.mjs', ADAPTER);
  project.write('agent.sh', AGENT);
  project.git('add', '.');
  project.git('commit', '-qm', 'agent');
  const asked = await project.run('--runtime', 'echo', 'choose a database');
  expect(asked.status).toBe('waiting');
  const answered = await project.caisson('answer', asked.runId, 'use sqlite', '-o', 'json');
  const next = JSON.parse(answered.stdout) as { status: string; stdout: string };
  expect(next).toMatchObject({ status: 'done' });
  expect(next.stdout).toContain('choose a database');
  for (const line of [
    'Question: Which database?',
    'Options: postgres | sqlite',
    'Your context: "tried mysql"',
    'State you saved: {"files":["a.ts"],"step":3}',
    'Answer: use sqlite',
  ])
    expect(next.stdout.split(line)).toHaveLength(2);
  expect(answered.code).toBe(0);
});

it('a plain command finds the answer in its mailbox, and the variables that came with it', async () => {
  const project = createProject();
  const command = `if [ -e .caisson/answer.json ]; then cat .caisson/answer.json; test "$WORD" = second; else printf '%s' '${JSON.stringify({ ...SENTINEL, context: 1 })}' > .caisson/needs_input.json; fi`;
  const asked = await project.run('--env', 'WORD=first', '--', 'sh', '-c', command);
  const words = ['--env', 'WORD=second', '-o', 'json'];
  const answered = await project.caisson('answer', asked.runId, 'sqlite', ...words);
  const next = JSON.parse(answered.stdout) as { status: string; stdout: string };
  expect(next.status).toBe('done');
  expect(JSON.parse(next.stdout)).toEqual({ ...SENTINEL, context: 1, answer: 'sqlite' });
});

it('two answers at the same time make one continuing run', async () => {
  const project = createProject();
  const asked = await project.run(...asking(SENTINEL));
  const answers = await Promise.all(
    ['one', 'two', 'three'].map((word) => project.caisson('answer', asked.runId, word, '-o', 'json')),
  );
  expect(answers.filter((answer) => answer.code === 3)).toHaveLength(1);
  expect(answers.filter((answer) => answer.code === 1)).toHaveLength(2);
  const runs = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { continues?: string }[];
  expect(runs.filter((run) => run.continues === asked.runId)).toHaveLength(1);
});

it('a question that has expired is not answered any more', async () => {
  const project = createProject({ config: 'questions: { deadline: 1s }\n' });
  const asked = await project.run(...asking(SENTINEL));
  await until('the deadline', async () => (await questions(project, '--all'))[0]?.status === 'expired');
  const answered = await project.caisson('answer', asked.runId, 'too late');
  expect(answered).toMatchObject({ code: 1 });
  expect(answered.stderr).toContain('has expired');
  expect(answered.stderr).toContain(`caisson retry ${asked.runId}`);
  expect((await questions(project)).length).toBe(0);
});

it('an answer never reaches another question than the one that was meant', async () => {
  const project = createProject();
  const older = await project.run(...asking(SENTINEL));
  project.write('caisson.yaml', 'questions: { deadline: 1s }\n');
  await project.run(...asking(SENTINEL));
  await until('the deadline', async () => (await questions(project, '--all'))[1]?.status === 'expired');
  const latest = await project.caisson('answer', 'latest', 'too late');
  expect(latest.stderr).toContain('has expired');
  const vague = await project.caisson('answer', older.runId.slice(-1), 'for whom?');
  expect(vague.code).not.toBe(0);
  expect((await questions(project)).map((question) => question.runId)).toEqual([older.runId]);
});

it('people see the context, how to answer, and no control characters of the agent', async () => {
  const project = createProject();
  const hostile = {
    question: 'ok?\u001b[2J',
    options: ['a\u001b]0;x\u0007'],
    context: 'tried\u001b[1A mysql',
  };
  const asked = await project.caisson('run', ...asking(JSON.stringify(hostile)));
  const shown = await project.caisson('questions');
  expect(shown.stdout).toContain('mysql');
  expect(shown.stdout + asked.stderr).not.toMatch(/[\u001b\u0007]/);
  expect(asked.stderr).toMatch(/caisson answer run_\w+ /);
});

it.each([
  ['is not JSON', '{"question": '],
  ['has no question', '{"options": ["a"]}'],
  ['has an empty question', '{"question": ""}'],
  ['has options that are no list', '{"question": "x", "options": "a"}'],
])('a sentinel that %s fails the run in step 13', async (_title, text) => {
  const project = createProject();
  const run = await project.run(...asking(text));
  expect(run).toMatchObject({
    status: 'error',
    failure: { reason: 'worker-failed', step: 13 },
    cli: { code: 1 },
  });
  expect(await questions(project, '--all')).toEqual([]);
});

it('a sentinel that is too large, or no regular file, fails the run in step 13', async () => {
  const project = createProject();
  const large = await project.run(
    '--',
    'sh',
    '-c',
    'head -c 1100000 /dev/zero | tr "\\0" " " > .caisson/needs_input.json',
  );
  expect(large.failure).toMatchObject({
    reason: 'worker-failed',
    step: 13,
    detail: expect.stringContaining('1100000 bytes'),
  });
  const link = await project.run('--', 'sh', '-c', 'ln -s /etc/passwd .caisson/needs_input.json');
  expect(link.failure).toMatchObject({ reason: 'worker-failed', step: 13 });
});

it('a waiting run is not done: it has no success to apply and is listed as waiting', async () => {
  const project = createProject();
  const asked = await project.run(
    '--apply',
    '--',
    'sh',
    '-c',
    `echo x > new.txt; printf '%s' '${JSON.stringify(SENTINEL)}' > .caisson/needs_input.json`,
  );
  expect(asked.cli.code).toBe(3);
  expect(project.git('status', '--porcelain')).not.toContain('new.txt');
  const runs = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { status: string }[];
  expect(runs.map((run) => run.status)).toEqual(['waiting']);
});

it('without a sandbox a question is found too', async () => {
  const project = createProject();
  const asked = await project.run('--sandbox', 'none', ...asking(SENTINEL));
  expect(asked).toMatchObject({ status: 'waiting', result: { needsInput: SENTINEL } });
  expect((await project.caisson('diff', asked.runId)).stdout).toBe('');
});

it.each([
  [['--workspace', 'in-place', '--sandbox', 'none']],
  [['--workspace', 'in-place']],
  [['--workspace', 'empty', '--sandbox', 'none']],
  [['--workspace', 'worktree']],
  [['--workspace', 'worktree', '--sandbox', 'none']],
])('$CAISSON_MAILBOX is where a question is left and an answer is found, with %j', async (place) => {
  const project = createProject();
  const script =
    'if [ -e "$CAISSON_MAILBOX/answer.json" ]; then cat "$CAISSON_MAILBOX/answer.json"; ' +
    `else printf '%s' '{"question":"Which?"}' > "$CAISSON_MAILBOX/needs_input.json"; fi`;
  const asked = await project.run(...place, '--', 'sh', '-c', script);
  expect([asked.status, asked.cli.stderr]).toEqual(['waiting', expect.not.stringContaining('warning')]);
  const answered = await project.caisson('answer', asked.runId, 'blue', '-o', 'json');
  expect((JSON.parse(answered.stdout) as { stdout: string }).stdout).toContain('"answer":"blue"');
  expect((await project.caisson('diff', asked.runId)).stdout).toBe('');
});
