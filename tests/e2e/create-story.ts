/** A project with a runtime whose lines are the signals of a driver, so that a test can say anything with it. */
import { expect } from 'vitest';
import { createProject, until, type Project } from './project.ts';

/** Until the agent has got a message. */
export const WAITS = 'until test -e .caisson/channel/inbox.jsonl; do sleep 0.05; done;';

export interface StoryOptions {
  readonly env?: Record<string, string>;
  /** A shell script that prints the story; lines that are no signals are its noise. */
  readonly script?: string;
}

export function createStory(
  signals: readonly object[],
  { env = {}, script = 'cat signals' }: StoryOptions = {},
): Project {
  const project = createProject({
    env,
    config: 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\nlimits: { concurrency: 4 }\n',
  });
  project.write('signals', signals.map((signal) => `${JSON.stringify(signal)}\n`).join(''));
  project.write(
    'adapter.mjs',
    `export default {
  name: 'mine',
  command: () => ({ argv: ['/bin/sh', '-c', ${JSON.stringify(script)}], env: {}, files: [], stdin: null }),
  createStream: () => ({
    line: (text) => (text.startsWith('{') ? [JSON.parse(text)] : []),
    end: () => ({ kind: 'answered', reply: 'It is done.' }),
  }),
};\n`,
  );
  project.git('add', '.');
  project.git('commit', '-qm', 'story');
  return project;
}

export const call = (callId: string, command: string, end: object = { ok: true }): object[] => [
  { kind: 'tool-start', callId, tool: 'bash', input: { command } },
  { kind: 'tool-end', callId, durationMs: 12, ...end },
];

/** So many calls: four events each, two of them never recorded. */
export const calls = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => call(`c${index}`, `echo ${index}`)).flat();

/** Starts a background host for the story and resolves with its run. */
export async function startStory(project: Project): Promise<string> {
  const started = await project.caisson('run', '--detach', '--runtime', 'mine', 'do it');
  expect(started.code, started.stderr).toBe(0);
  return started.stdout.trim();
}

/** A story that WAITS goes on. */
export async function goOn(project: Project, runId: string): Promise<void> {
  await until('the agent runs', async () => (await project.caisson('send', runId, 'go')).code === 0);
}
