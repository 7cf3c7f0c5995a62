/** What happens in a run is seen by every process as it happens, whichever of them drives the run. */
import type { ChildProcess } from 'node:child_process';
import type { EventEnvelope, WireEvent } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { createProject, finish, parseLines, until, type Project } from './project.ts';

/** Beats often, so that a test does not wait for it. */
const FAST = { CAISSON_HEARTBEAT_MS: '200' };
const WAITS = 'until test -e .caisson/channel/inbox.jsonl; do sleep 0.05; done;';

interface Story {
  readonly project: Project;
  /** Starts a background host for it, and resolves with its run. */
  start(): Promise<string>;
  /** The agent waits for that before it says anything. */
  go(runId: string): Promise<void>;
}

/** An agent whose lines are the signals of a driver. */
function createStory(signals: readonly object[]): Story {
  const project = createProject({
    env: { ...(process.env as Record<string, string>), ...FAST }, // the same user as here
    config: 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n',
  });
  project.write('signals', signals.map((signal) => `${JSON.stringify(signal)}\n`).join(''));
  project.write(
    'adapter.mjs',
    `export default {
  name: 'mine',
  command: () => ({ argv: ['/bin/sh', '-c', '${WAITS} cat signals'], env: {}, files: [], stdin: null }),
  createStream: () => ({
    line: (text) => [JSON.parse(text)],
    end: () => ({ kind: 'answered', reply: 'It is done.' }),
  }),
};\n`,
  );
  project.git('add', '.');
  project.git('commit', '-qm', 'story');
  return {
    project,
    async start() {
      const started = await project.caisson('run', '--detach', '--runtime', 'mine', 'do it');
      expect(started.code, started.stderr).toBe(0);
      return started.stdout.trim();
    },
    async go(runId) {
      await until('the agent runs', async () => (await project.caisson('send', runId, 'go')).code === 0);
    },
  };
}

const calls = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => [
    { kind: 'tool-start', callId: `c${index}`, tool: 'bash', input: { command: `echo ${index}` } },
    { kind: 'tool-end', callId: `c${index}`, durationMs: 12, ok: true },
  ]).flat();

/** Everything that it printed so far. */
function printed(child: ChildProcess): () => string {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
}

const recorded = (events: readonly (WireEvent | EventEnvelope)[]): number[] =>
  events.map(({ seq }) => seq).filter((seq) => seq > 0);

it('logs -f of another process shows what is not recorded, in its place, and a program gets all of it', async () => {
  const { project, start, go } = createStory(calls(2));
  const runId = await start();
  const words = project.start('logs', runId, '-f');
  const seen = printed(words);
  const followers = [finish(words), finish(project.start('logs', runId, '-f', '-o', 'ndjson'))];
  const complete = finish(project.start('logs', runId, '-f', '-o', 'json'));
  await until('a beat of the run', async () => seen().includes('dispatch.started'));
  await go(runId);
  const [followed, lines] = await Promise.all(followers);
  expect(followed?.stderr).toBe('');
  const progress = followed?.stdout.match(/^ {3}- {2}\S+ {2}worker\.progress .*$/gm) ?? [];
  const steps = progress.map((line) => line.replace(/.*progress +/, ''));
  expect(steps.slice(-2)).toEqual(['capture · patch', 'capture · outputs']);
  expect(followed?.stdout).not.toContain('worker.heartbeat');
  const events = parseLines(lines?.stdout ?? '');
  const all = (await project.events(runId)).map(({ seq }) => seq);
  const untilEnd = recorded(events);
  expect(untilEnd).toEqual(all.slice(0, untilEnd.length));
  expect(events.at(-1)?.type).toBe('dispatch.finished');
  const types = events.map(({ type }) => type);
  expect(types).toContain('worker.heartbeat');
  const tool = events.findIndex(({ type, ['tool']: name }) => type === 'worker.progress' && name === 'bash');
  expect(events[tool]?.seq).toBe(0);
  expect(tool).toBeGreaterThan(types.indexOf('dispatch.started'));
  expect(tool).toBeLessThan(types.indexOf('runtime.adapter.ran'));
  const whole = JSON.parse((await complete).stdout) as WireEvent[];
  expect(whole.map(({ seq }) => seq)).toEqual(untilEnd);
}, 60_000);
