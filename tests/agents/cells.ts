/** What every real agent is put through. One cell is one run from `caisson run` to its sealed ending. */
import type { ScriptTurn } from '@caisson/testkit';
import { expect } from 'vitest';
import { pidsWith, until } from '../e2e/project.ts';
import { createStage, expectUsage, KEY, type AgentRun, type Stage } from './agent-run.ts';
import type { AgentUnderTest } from './agent-under-test.ts';
import { expectIgnored } from './hostile-run.ts';
import { combinedFiles } from './hostile-combined.ts';
import { START_UP_FILES } from './hostile-settings.ts';

export interface Cell {
  readonly title: string;
  /** Also part of `npm test`. */
  readonly isShort: boolean;
  /** What stands in the table when it passed; `pass` unless told. */
  prove(agent: AgentUnderTest): Promise<string | void>;
}

const usage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0) => ({
  usage: { inputTokens, outputTokens, cacheReadTokens },
});
const runCommand = (command: string): ScriptTurn => ({
  tool: { intent: 'run-command', command },
  ...usage(50, 9),
});
const ASK = JSON.stringify({ question: 'Which colour?', options: ['red', 'blue'] });
/** A name of its own, so that the tool is found among all processes and never mistaken for another test's. */
const uniqueMark = (): string => `endless-${process.pid}-${Math.floor(Math.random() * 1e9)}`;
/** Not `sleep`, which Claude Code refuses to run. */
const waitForever = (mark: string): ScriptTurn => runCommand(`touch ${mark} && tail -f ${mark}`);
const isToolRunning = (mark: string): boolean => pidsWith(`tail -f ${mark}`).length > 0;

function expectDone(ran: AgentRun, reply: string): void {
  expect([ran.failure, ran.status, ran.exitCode, ran.reply]).toEqual([undefined, 'done', 0, reply]);
}

async function diffOf({ project }: Stage, { runId }: AgentRun): Promise<string> {
  return (await project.caisson('diff', runId)).stdout;
}

async function edit(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      {
        say: 'I will write it.',
        tool: { intent: 'write-file', path: 'hello.txt', content: 'hello\n' },
        ...usage(100, 20, 30),
      },
      // Claude Code edits only what it has read.
      { tool: { intent: 'read-file', path: 'README.md' }, ...usage(105, 8) },
      {
        tool: { intent: 'edit-file', path: 'README.md', find: 'sample', replace: 'example' },
        ...usage(110, 21, 7),
      },
      { say: 'Both are done.', ...usage(120, 5) },
    ],
  });
  const ran = await stage.run('write hello.txt and edit the README');
  expectDone(ran, 'Both are done.');
  const diff = await diffOf(stage, ran);
  expect(diff).toContain('+hello');
  expect(diff).toContain('+# example');
  expect(ran.result?.usage?.toolCalls).toBe(3);
  expectUsage(stage, ran);
}

async function command(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('printf ran > ran.txt && git add ran.txt && git commit -qm done'),
      { say: 'It ran.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('run the command');
  expectDone(ran, 'It ran.');
  expect(await diffOf(stage, ran)).toContain('+ran');
  expectUsage(stage, ran);
}

/** What a definition says about the answers reaches the model, or is warned about by name. */
async function sampling(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [{ say: 'Short.', ...usage(60, 7) }],
    config: `agents:\n  terse: { runtime: ${agent.name}, maxTokens: 4321, temperature: 0.25 }\n`,
  });
  const ran = await stage.run('answer', '--agent', 'terse');
  expectDone(ran, 'Short.');
  const asked = JSON.stringify(stage.model.modelRequests().map(({ body }) => body));
  const warned = (await stage.project.events(ran.runId))
    .filter(({ type }) => type === 'warning')
    .map((event) => String(event['message']));
  const taken = [
    ['maxTokens', /"(max_tokens|max_completion_tokens|maxOutputTokens)":4321\b/],
    ['temperature', /"temperature":0\.25\b/],
  ] as const;
  const found = taken.filter(([, pattern]) => pattern.test(asked)).map(([name]) => name);
  for (const [name] of taken)
    expect([name, found.includes(name), warned.some((message) => message.includes(name))]).toEqual([
      name,
      found.includes(name),
      !found.includes(name),
    ]);
  return found.length === 0 ? 'warns' : found.join(', ');
}

async function denied(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('touch denied.txt; git push --force origin main'),
      { say: 'I was not allowed to push.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('push it');
  expectDone(ran, 'I was not allowed to push.');
  expect(ran.result?.policy.denials).toMatchObject([{ layer: 'gate', actionClass: 'git_destructive' }]);
  expect(await diffOf(stage, ran)).not.toContain('denied.txt');
  expectUsage(stage, ran);
}

/** Told with the layer that held it: a tool that the program does not even offer never came to the gate. */
async function suggest(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'write-file', path: 'made.txt', content: 'made\n' }, ...usage(50, 9) },
      { say: 'I would write made.txt.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('write it', '--mode', 'suggest');
  expect([ran.failure, ran.status]).toEqual([undefined, 'done']);
  expect(await diffOf(stage, ran)).not.toContain('made.txt');
  expectUsage(stage, ran);
  const denials = ran.result?.policy.denials ?? [];
  if (denials.length > 0) {
    expect(denials).toMatchObject([{ layer: 'gate', what: expect.stringContaining('made.txt') as string }]);
    return 'by the gate';
  }
  return (ran.result?.usage?.toolCalls ?? 0) === 0 ? 'tool not offered' : 'by the program';
}

/** What was denied does not change by asking again. */
async function loop(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      ...Array.from({ length: 7 }, () => runCommand('git push --force origin main')),
      { say: 'I gave up.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('push it');
  expect(ran.failure).toMatchObject({ reason: 'policy-denied', cause: 'loop' });
  expect(ran.result?.policy.denials).toHaveLength(5);
}

/**
 * What fails does not change by trying again. A command that prints something is a success to Gemini whatever its exit
 * code, and one that asks (`test`, `grep`) to Claude Code.
 */
async function failingLoop(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [...Array.from({ length: 7 }, () => runCommand('false')), { say: 'I gave up.', ...usage(60, 7) }],
  });
  const ran = await stage.run('look for it');
  if (agent.tellsFailures) {
    expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'loop' });
    return 'pass';
  }
  expectDone(ran, 'I gave up.');
  return 'not told by the program';
}

/** A model that misspells a tool is told so by its program; nobody is asked and nothing hangs. */
async function misspelt(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'call', tool: 'bsh', arguments: { command: 'ls' } }, ...usage(50, 9) },
      { say: 'There is no such tool.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('list it', '--timeout', '60s');
  expectDone(ran, 'There is no such tool.');
}

async function fullAuto(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('touch denied.txt; git reset --hard'),
      { say: 'I was not allowed to.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('throw it away', '--mode', 'full-auto');
  expectDone(ran, 'I was not allowed to.');
  expect(ran.result?.policy.denials).toMatchObject([{ layer: 'gate', actionClass: 'git_destructive' }]);
  expect(await diffOf(stage, ran)).not.toContain('denied.txt');
}

async function needsInput(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'write-file', path: '.caisson/needs_input.json', content: ASK }, ...usage(40, 9) },
      { say: 'I asked.', ...usage(50, 4) },
    ],
  });
  const ran = await stage.run('paint it');
  expect([ran.status, ran.cli.code]).toEqual(['waiting', 3]);
  expect(ran.result?.needsInput).toMatchObject({ question: 'Which colour?', options: ['red', 'blue'] });
  expectUsage(stage, ran);
}

async function board(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      {
        tool: { intent: 'mcp', tool: 'board_write', arguments: { key: 'port', value: 8080 } },
        ...usage(40, 9),
      },
      { tool: { intent: 'mcp', tool: 'board_read', arguments: {} }, ...usage(45, 9) },
      { say: 'It is on the board.', ...usage(50, 4) },
    ],
  });
  const tools = ['--tool', 'board_write', '--tool', 'board_read'];
  const ran = await stage.run('tell the others', ...tools, '--session', 'team');
  expectDone(ran, 'It is on the board.');
  const { stdout } = await stage.project.caisson('board', '--session', 'team', '-o', 'json');
  expect(stdout).toContain('8080');
  expect(JSON.stringify(stage.model.requests.at(-1)?.body)).toContain(ran.runId); // who wrote it
  expectUsage(stage, ran);
}

async function budget(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'run-command', command: 'echo one' }, ...usage(5000, 9) },
      { say: 'Done.', ...usage(5000, 7) },
    ],
  });
  const ran = await stage.run('spend too much', '--max-tokens', '1000');
  expect([ran.failure?.reason, ran.status, ran.cli.code]).toEqual(['budget-exceeded', 'budget_exceeded', 5]);
  expectUsage(stage, ran);
}

async function timeout(agent: AgentUnderTest): Promise<void> {
  const mark = uniqueMark();
  const stage = await createStage(agent, { script: [waitForever(mark), { say: 'Never.' }] });
  const begun = await stage.begin('wait', '--timeout', `${agent.startSeconds}s`);
  await until('the tool runs', () => isToolRunning(mark), agent.startSeconds * 1000);
  const ran = await begun.end();
  expect([ran.failure?.reason, ran.status, ran.cli.code]).toEqual(['timeout', 'timeout', 124]);
  expect(pidsWith(mark)).toEqual([]);
}

async function cancel(agent: AgentUnderTest): Promise<void> {
  const mark = uniqueMark();
  const stage = await createStage(agent, { script: [waitForever(mark), { say: 'Never.' }] });
  const begun = await stage.begin('wait');
  await until('the tool runs', () => isToolRunning(mark), 60_000);
  const { code } = await stage.project.caisson('cancel', begun.runId);
  const ran = await begun.end();
  expect([code, ran.status, ran.cli.code]).toEqual([0, 'cancelled', 130]);
  expect(pidsWith(mark)).toEqual([]);
}

async function auth(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, { script: [{ say: 'Never.' }], acceptedKey: `${KEY}-other` });
  const ran = await stage.run('anything');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'auth' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
}

async function overloaded(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, { script: [{ fault: '529' }] });
  const ran = await stage.run('anything', '--retries', '0');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'overloaded' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
}

/** Whatever its program makes of it: the model would not, and nothing is tried again. */
async function refused(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [runCommand('echo begun > begun.txt'), { fault: 'refusal', ...usage(60, 7) }],
  });
  const ran = await stage.run('do something bad');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'refusal' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
  expectUsage(stage, ran);
}

/** Half an answer is none, also where the program takes it for one. Claude Code asks to go on, three times. */
async function cut(agent: AgentUnderTest): Promise<void> {
  const turn: ScriptTurn = { say: 'I was about to', fault: 'max-tokens', ...usage(60, 7) };
  const stage = await createStage(agent, { script: Array.from({ length: 6 }, () => turn) });
  const ran = await stage.run('write a novel');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'max-tokens' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
  expectUsage(stage, ran);
}

async function resume(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      {
        when: 'Answer: blue',
        turns: [
          { tool: { intent: 'write-file', path: 'colour.txt', content: 'blue\n' }, ...usage(70, 8) },
          { say: 'Painted blue.', ...usage(80, 3) },
        ],
      },
      {
        when: 'paint it',
        turns: [
          { tool: { intent: 'write-file', path: 'sketch.txt', content: 'sketched\n' }, ...usage(30, 6) },
          {
            tool: { intent: 'write-file', path: '.caisson/needs_input.json', content: ASK },
            ...usage(40, 9),
          },
          { say: 'I wonder about the colour.', ...usage(50, 4) },
        ],
      },
    ],
  });
  const asked = await stage.run('paint it');
  expect(asked.status).toBe('waiting');
  const requestsBefore = stage.model.requests.length;
  const ran = await stage.follow('answer', asked.runId, 'blue');
  expectDone(ran, 'Painted blue.');
  // The session remembers the sketch, so the workspace has it, and the patch holds both.
  const diff = await diffOf(stage, ran);
  expect([diff.includes('+sketched'), diff.includes('+blue')]).toEqual([true, true]);
  const heard = JSON.stringify(stage.model.requests.slice(requestsBefore).map(({ body }) => body));
  expect(heard.includes('I wonder about the colour.')).toBe(agent.resumes);
  expectUsage(stage, asked, ran);
  return agent.resumes ? 'pass' : 'goes on in a new session';
}

/** Two retries of one run: each finds its files and its session as that run left them. */
async function retry(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: {
      when: 'draw it',
      turns: [
        runCommand('test -e sketch.txt && echo seen >> again.txt; echo sketched > sketch.txt'),
        { say: 'I drew a sketch.', ...usage(60, 7) },
      ],
    },
  });
  const first = await stage.run('draw it');
  expectDone(first, 'I drew a sketch.');
  const runs = [first];
  for (const _ of ['once', 'twice']) {
    const requestsBefore = stage.model.requests.length;
    const ran = await stage.follow('retry', first.runId);
    expectDone(ran, 'I drew a sketch.');
    const diff = await diffOf(stage, ran);
    expect([diff.includes('+sketched'), diff.split('+seen').length - 1]).toEqual([true, 1]);
    const heard = JSON.stringify(stage.model.requests.slice(requestsBefore).at(-1)?.body);
    expect(heard.split('I drew a sketch.')).toHaveLength(agent.resumes ? 2 : 1);
    runs.push(ran);
  }
  expectUsage(stage, ...runs);
  return agent.resumes ? 'pass' : 'goes on in a new session';
}

/** Longer than the minute after which several programs give up on a hook that says nothing else. */
const LONG_HOLD_MS = 70_000;

async function approval(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('mkdir old; find old -delete; echo cleared > cleared.txt'),
      { say: 'Cleared.', ...usage(60, 7) },
    ],
  });
  const begun = await stage.begin('clear it', '--mode', 'full-auto');
  await until(
    'the call is held',
    async () => {
      const { stdout } = await stage.project.caisson('approvals', '-o', 'json');
      return stdout.includes(begun.runId);
    },
    60_000,
  );
  await new Promise((resolve) => setTimeout(resolve, LONG_HOLD_MS));
  expect((await stage.project.caisson('approve', begun.runId)).code).toBe(0);
  const ran = await begun.end();
  expectDone(ran, 'Cleared.');
  expect(await diffOf(stage, ran)).toContain('+cleared');
  expectUsage(stage, ran);
}

const hostile = (agent: AgentUnderTest): Promise<void> =>
  expectIgnored(agent, { committed: (root) => combinedFiles(agent.name, root), made: START_UP_FILES.files });

export const CELLS: readonly Cell[] = [
  { title: 'edits a file', isShort: true, prove: edit },
  { title: 'runs a command', isShort: false, prove: command },
  { title: 'takes of its agent', isShort: false, prove: sampling },
  { title: 'is denied by policy', isShort: true, prove: denied },
  { title: 'obeys no settings of the repository', isShort: true, prove: hostile },
  { title: 'repeats a denied call', isShort: false, prove: loop },
  { title: 'repeats a failing call', isShort: false, prove: failingLoop },
  { title: 'calls a tool that is not there', isShort: false, prove: misspelt },
  { title: 'changes nothing in suggest', isShort: false, prove: suggest },
  { title: 'is denied in full-auto too', isShort: false, prove: fullAuto },
  { title: 'is held for long, then approved', isShort: false, prove: approval },
  { title: 'needs input', isShort: false, prove: needsInput },
  { title: 'uses the board', isShort: false, prove: board },
  { title: 'exceeds its budget', isShort: false, prove: budget },
  { title: 'times out inside a tool', isShort: false, prove: timeout },
  { title: 'is cancelled inside a tool', isShort: true, prove: cancel },
  { title: 'fails to log in', isShort: true, prove: auth },
  { title: 'meets an overloaded model', isShort: false, prove: overloaded },
  { title: 'is refused by the model', isShort: false, prove: refused },
  { title: 'gets half an answer', isShort: false, prove: cut },
  { title: 'resumes its session', isShort: false, prove: resume },
  { title: 'goes on after a retry', isShort: false, prove: retry },
];
