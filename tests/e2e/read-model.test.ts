/** What every process knows of a run that another one drives: its phase, its tool, its counts, what it waits for. */
import { createCaisson, type Caisson } from 'caisson';
import type { DispatchResult } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { createStory, WAITS } from './create-story.ts';
import { createProject, finish, until, type Project } from './project.ts';

const USED = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 };
const SIGNALS = [
  { kind: 'turn' },
  { kind: 'tool-start', callId: 'c1', tool: 'bash', input: { command: 'npm ci' } },
  { kind: 'tool-end', callId: 'c1', durationMs: 12, ok: true },
  { kind: 'turn' },
  { kind: 'cost', usd: 0.25 },
  { kind: 'usage', how: 'total', usage: USED },
  { kind: 'tool-start', callId: 'c2', tool: 'bash', input: { command: 'npm test' } },
];

/** An agent that is in its second call until it gets a message. */
const createCalls = (): Project =>
  createStory(SIGNALS, { env: process.env as Record<string, string>, script: `cat signals; ${WAITS} true` });

async function openReader(project: Project, { daemon = false } = {}): Promise<Caisson> {
  const caisson = await createCaisson({ cwd: project.root, daemon, onUnsettled: () => undefined });
  onTestFinished(() => caisson.close());
  return caisson;
}

/** Resolves once the agent is in its second call. */
async function untilInCall(caisson: Caisson): Promise<string> {
  return until('the second call', async () => {
    const [row] = await caisson.runs();
    return row?.live?.tool?.what.includes('npm test') === true && row.live.turns === 2 ? row.runId : null;
  });
}

const LIVE = {
  phase: 'working',
  attempt: 1,
  tool: { name: 'bash', others: 0 },
  turns: 2,
  toolCalls: 2,
  tokens: 120,
  costUsd: 0.25,
  health: 'healthy',
  branch: 'work/live',
  source: 'host',
};

it('runs and show of another process say what a run does now, and nothing of it once it has ended', async () => {
  const project = createCalls();
  await project.trust();
  const running = finish(project.start('run', '--runtime', 'mine', '--branch', 'work/live', 'do it'));
  const caisson = await openReader(project);
  const runId = await untilInCall(caisson);
  expect((await caisson.runs())[0]).toMatchObject({ status: 'running', live: LIVE });
  const listed = await project.caisson('runs', '--wide');
  expect(listed.stdout).toMatch(/running, bash \d[\d.]* m?s .*\$0\.25 … +do it/);
  expect((await project.caisson('runs')).stdout).toMatch(/ running {2,}mine /);
  const shown = await project.caisson('show', runId, '-o', 'json');
  expect((JSON.parse(shown.stdout) as DispatchResult).live).toMatchObject(LIVE);
  const words = (await project.caisson('show', runId)).stdout;
  expect(words).toMatch(/^Now\n {2}working for .*\n {2}bash: .*npm test.*, for \d/m);
  expect(words).toContain('so far: 2 turns, 2 tool calls, 120 tokens, $0.25\n');
  expect((await project.caisson('send', runId, 'go')).code).toBe(0);
  expect((await running).code).toBe(0);
  const [ended] = await caisson.runs();
  expect(ended).toMatchObject({ status: 'done' });
  expect(ended).not.toHaveProperty('live');
  expect(await caisson.show(runId)).not.toHaveProperty('live');
}, 60_000);

it('runs are found by what they are, by time and by text, page after page', async () => {
  const project = createProject();
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three'])
    ids.unshift((await project.run('--session', name.slice(0, 1), '--', 'echo', name)).runId);
  const list = async (...args: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await project.caisson('runs', '-o', 'json', ...args);
    expect(code, stderr).toBe(0);
    return (JSON.parse(stdout) as { runId: string }[]).map(({ runId }) => runId);
  };
  expect(await list('--limit', '2')).toEqual(ids.slice(0, 2));
  expect(await list('--limit', '2', '--after', ids[1]?.slice(-8) ?? '')).toEqual(ids.slice(2));
  expect(await list('--text', 'ECHO T')).toEqual(ids.slice(0, 2));
  expect(await list('--session', 't', '--runtime', 'command', '--since', '1h')).toEqual(ids.slice(0, 2));
  expect(await list('--until', '1h')).toEqual([]);
  expect(await list('--agent', 'nobody')).toEqual([]);
  expect(await project.caisson('runs', '--since', 'soon')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--since needs a time, such as 2026-01-31') as string,
  });
  expect(await project.caisson('runs', '--after', 'run_none')).toMatchObject({
    stderr: expect.stringContaining('run_none') as string,
  });
}, 60_000);

it('what a daemon drives is known the same way, from its own memory', async () => {
  const project = createCalls();
  expect(await project.caisson('up', '-d')).toMatchObject({ code: 0 });
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  const running = finish(project.start('run', '--runtime', 'mine', '--branch', 'work/live', 'do it'));
  const runId = await untilInCall(await openReader(project, { daemon: true }));
  const alone = await openReader(project);
  expect((await alone.runs())[0]).toMatchObject({ runId, live: LIVE });
  expect((await alone.show(runId)).live).toMatchObject(LIVE);
  expect((await project.caisson('send', runId, 'go')).code).toBe(0);
  expect((await running).code).toBe(0);
}, 60_000);

it('a host that stands still does not hold up a list, which then says what is recorded', async () => {
  const project = createCalls();
  await project.trust();
  const host = project.start('run', '--runtime', 'mine', 'do it');
  const running = finish(host);
  const caisson = await openReader(project);
  const runId = await untilInCall(caisson);
  host.kill('SIGSTOP');
  onTestFinished(() => void host.kill('SIGCONT'));
  const begun = performance.now();
  const [row] = await caisson.runs();
  expect(performance.now() - begun).toBeLessThan(5000); // other orders may take ten seconds
  expect(row).toMatchObject({
    status: 'running',
    live: { phase: 'working', toolCalls: 2, tool: { name: 'bash' }, source: 'ledger' },
  });
  const words = (await project.caisson('show', runId)).stdout;
  expect(words).toContain('its host did not answer in time: this is what is recorded');
  host.kill('SIGCONT');
  expect((await project.caisson('send', runId, 'go')).code).toBe(0);
  expect((await running).code).toBe(0);
}, 60_000);
