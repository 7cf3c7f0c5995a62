/** What happens in a run is seen by every process as it happens, whichever of them drives the run. */
import type { ChildProcess } from 'node:child_process';
import { createCaisson, type FollowOptions } from '@caisson/engine';
import type { EventEnvelope, WireEvent } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { calls, createStory, goOn, startStory, WAITS } from './create-story.ts';
import { finish, parseLines, until, type Project } from './project.ts';

/** The same user as here; the worker beats often, so that a test need not wait for it. */
const ENV = { ...(process.env as Record<string, string>), CAISSON_HEARTBEAT_MS: '200' };

const createTalk = (count: number): Project =>
  createStory(calls(count), { env: ENV, script: `${WAITS} cat signals` });

const recorded = (events: readonly (WireEvent | EventEnvelope)[]): number[] =>
  events.map(({ seq }) => seq).filter((seq) => seq > 0);

/** Calls something until it has got a message: who follows live sees it sooner or later. */
const BUSY = `n=0; until test -e .caisson/channel/inbox.jsonl; do n=$((n+1))
printf '{"kind":"tool-start","callId":"w%s","tool":"bash","input":{"command":"wait"}}\\n' $n
printf '{"kind":"tool-end","callId":"w%s","durationMs":1,"ok":true}\\n' $n; sleep 0.2; done;`;

/** What comes after the ending (the seal) may reach one reader and not the other. */
const toEnding = (events: readonly WireEvent[]): readonly WireEvent[] =>
  events.slice(0, events.findIndex(({ type }) => type === 'dispatch.finished') + 1);

interface Reading {
  hasBeat(runId: string): boolean;
  readonly ended: Promise<EventEnvelope[]>;
}

const isBeatOf =
  (of: string) =>
  ({ type, runId }: EventEnvelope): boolean =>
    type === 'worker.heartbeat' && runId === of;

/** Resolves when it has printed this. */
function hasPrinted(child: ChildProcess, text: string, name: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
  let seen = '';
  return new Promise((resolve) => {
    child[name]?.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      if (seen.includes(text)) resolve();
    });
  });
}

it('logs -f of another process shows what is not recorded, in its place, and a program gets all of it', async () => {
  const project = createStory(calls(2), { env: ENV, script: `${BUSY} cat signals` });
  const runId = await startStory(project);
  const words = project.start('logs', runId, '-f');
  const lines = project.start('logs', runId, '-f', '-o', 'ndjson');
  const [forPeople, forPrograms] = [finish(words), finish(lines)];
  const atOnce = finish(project.start('logs', runId, '-f', '-o', 'json'));
  await Promise.all([hasPrinted(words, 'worker.progress'), hasPrinted(lines, 'worker.heartbeat')]);
  await goOn(project, runId);
  const shown = await forPeople;
  expect(shown.stderr).toBe('');
  expect(shown.stdout).toMatch(/^ {3}- {2}\S+ {2}worker\.progress +capture · patch$/m);
  expect(shown.stdout).not.toContain('worker.heartbeat');
  const events = parseLines((await forPrograms).stdout);
  const ofRun = (await project.events(runId)).map(({ seq }) => seq);
  expect(recorded(events)).toEqual(ofRun.slice(0, recorded(events).length));
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => type === 'dispatch.finished')).toHaveLength(1);
  const tool = events.findIndex((event) => event.type === 'worker.progress' && event['tool'] === 'bash');
  expect(events[tool]).toMatchObject({ seq: 0, offset: 0, runId });
  expect(tool).toBeGreaterThan(types.indexOf('dispatch.started'));
  expect(tool).toBeLessThan(types.indexOf('runtime.adapter.ran'));
  const whole = JSON.parse((await atOnce).stdout) as WireEvent[];
  expect(recorded(toEnding(whole))).toEqual(recorded(toEnding(events)));
}, 60_000);

it('follow() has everything of the project, recorded and live, of hosts that were there and of those that come', async () => {
  const project = createTalk(1);
  const first = await startStory(project);
  const caisson = await createCaisson({ cwd: project.root });
  onTestFinished(() => caisson.close());
  const read = (ended: string[], options: FollowOptions): Reading => {
    const left = new Set(ended);
    const events: EventEnvelope[] = [];
    const follow = async (): Promise<EventEnvelope[]> => {
      for await (const event of caisson.follow(options)) {
        events.push(event);
        if (event.type === 'dispatch.finished') left.delete(event.runId ?? '');
        if (left.size === 0) break;
      }
      return events;
    };
    return { hasBeat: (of) => events.some(isBeatOf(of)), ended: follow() };
  };
  const all = read([first], { after: 0 });
  const types = ['worker.heartbeat', 'dispatch.finished'] as const;
  const second = await startStory(project);
  const both = read([first, second], { after: 0 });
  const some = read([second], { runs: [second], types });
  const ofBoth = read([first, second], { types });
  const readers = [all, both, some, ofBoth];
  await until('all read of the second', () => readers.every(({ hasBeat }) => hasBeat(second)));
  await until('who should reads of the first', () => [both, ofBoth].every(({ hasBeat }) => hasBeat(first)));
  await goOn(project, second);
  const ofSecond = await some.ended;
  await goOn(project, first);
  const events = await both.ended;
  const offsets = events.map(({ offset }) => offset).filter((offset) => offset > 0);
  expect(offsets).toEqual(offsets.map((_, index) => index + 1));
  for (const runId of [first, second]) {
    const live = events.filter((event) => event.seq === 0 && event.runId === runId);
    expect(live.map(({ type }) => type)).toContain('worker.heartbeat');
  }
  const beats = ofSecond.map(({ runId, type }) => `${runId} ${type}`);
  expect(new Set(beats)).toEqual(new Set([`${second} worker.heartbeat`, `${second} dispatch.finished`]));
  expect(beats.at(-1)).toBe(`${second} dispatch.finished`);
  expect(new Set((await ofBoth.ended).map(({ type }) => type))).toEqual(new Set(types));
  await all.ended; // the host of the second run came after it began
}, 90_000);

it('a second run with the same key shows what happens in the first one as its own process does', async () => {
  const project = createTalk(1);
  const task = ['--idempotency-key', 'one', '--runtime', 'mine', 'do it'];
  await project.trust();
  const owner = project.start('run', '-o', 'ndjson', ...task);
  const owned = finish(owner);
  await hasPrinted(owner, 'worker.heartbeat');
  const second = project.start('run', '-o', 'ndjson', ...task);
  const seen = finish(second);
  await hasPrinted(second, 'worker.heartbeat');
  const runId = parseLines((await project.caisson('logs', '-o', 'ndjson')).stdout)[0]?.runId ?? '';
  await goOn(project, runId);
  const theirs = parseLines((await owned).stdout);
  const ours = toEnding(parseLines((await seen).stdout));
  const toEnd = toEnding(theirs);
  const work = (events: readonly WireEvent[]): WireEvent[] =>
    events.slice(events.findIndex(({ type }) => type === 'channel.sent'));
  const said = (events: readonly WireEvent[]): unknown[] =>
    work(events).filter(({ type }) => type !== 'worker.heartbeat');
  expect(said(ours)).toEqual(said(toEnd));
  expect(said(ours).length).toBeGreaterThan(8);
  expect(recorded(ours)).toEqual(recorded(toEnd));
}, 60_000);

it('what more processes want to follow than a host lets is said, and they get what is recorded', async () => {
  const project = createTalk(1);
  const runId = await startStory(project);
  const caisson = await createCaisson({ cwd: project.root });
  onTestFinished(() => caisson.close());
  let beats = 0;
  const others = Array.from({ length: 256 }, async () => {
    let hasBeaten = false;
    for await (const { type } of caisson.follow(runId)) {
      if (type === 'worker.heartbeat' && !hasBeaten) beats += 1;
      hasBeaten ||= type === 'worker.heartbeat';
    }
  });
  await until('all are followed', () => beats === 256, 30_000);
  const late = project.start('logs', runId, '-f', '-o', 'ndjson');
  const ended = finish(late);
  await hasPrinted(late, 'warning: hosts', 'stderr');
  await goOn(project, runId);
  const { stdout, stderr } = await ended;
  await Promise.all(others);
  const events = parseLines(stdout);
  expect(stderr).toMatch(/^warning: hosts: .*256 others follow this host already\n$/);
  expect(events.every(({ seq }) => seq > 0)).toBe(true);
  expect(events.map(({ type }) => type)).toContain('dispatch.finished');
}, 90_000);
