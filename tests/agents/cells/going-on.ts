/** Runs that go on where another one stopped. */
import { expect } from 'vitest';
import { createStage, expectUsage } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { runCommand, ASK, expectDone, diffOf, usage } from './cell.ts';

export async function needsInput(agent: AgentUnderTest): Promise<void> {
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

export async function resume(agent: AgentUnderTest): Promise<string> {
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
  const received = JSON.stringify(stage.model.requests.slice(requestsBefore).map(({ body }) => body));
  expect(received.includes('I wonder about the colour.')).toBe(agent.resumes);
  expectUsage(stage, asked, ran);
  return agent.resumes ? 'pass' : 'goes on in a new session';
}

/** Two retries of one run: each finds its files and its session as that run left them. */
export async function retry(agent: AgentUnderTest): Promise<string> {
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
    const received = JSON.stringify(stage.model.requests.slice(requestsBefore).at(-1)?.body);
    expect(received.split('I drew a sketch.')).toHaveLength(agent.resumes ? 2 : 1);
    runs.push(ran);
  }
  expectUsage(stage, ...runs);
  return agent.resumes ? 'pass' : 'goes on in a new session';
}

/** What the person changed meanwhile is there, and so is the earlier work, in the conversation it was done in. */
export async function continued(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      {
        when: 'and colour it',
        turns: [
          runCommand('cat sketch.txt mine.txt > seen.txt; echo blue > colour.txt'),
          { say: 'I coloured it.', ...usage(60, 7) },
        ],
      },
      {
        when: 'draw it',
        turns: [runCommand('echo sketched > sketch.txt'), { say: 'I drew a sketch.', ...usage(60, 7) }],
      },
    ],
  });
  const first = await stage.run('draw it');
  expectDone(first, 'I drew a sketch.');
  stage.project.write('mine.txt', 'mine since\n');
  const requestsBefore = stage.model.requests.length;
  const ran = await stage.follow('continue', 'and colour it');
  expectDone(ran, 'I coloured it.');
  expect(ran.continues?.runId ?? (await stage.project.caisson('show', ran.runId)).stdout).toContain(
    first.runId,
  );
  const diff = await diffOf(stage, ran);
  expect(['+sketched', '+blue', '+mine since'].map((line) => diff.split(line).length - 1)).toEqual([2, 1, 1]);
  expect(diff).not.toContain('b/mine.txt');
  const prompt = JSON.stringify(stage.model.requests[requestsBefore]?.body);
  expect(prompt).toContain('I drew a sketch.');
  expect(prompt.includes('in another conversation, which you cannot see')).toBe(!agent.resumes);
  expect(prompt.includes('changed since you last saw them')).toBe(agent.resumes);
  expectUsage(stage, first, ran);
  return agent.resumes ? 'pass' : 'gets a summary';
}
