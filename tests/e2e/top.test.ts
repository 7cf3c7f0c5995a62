/** `caisson top` in a real pseudo-terminal. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { openTerminal, type Terminal } from './on-terminal.ts';
import { createProject, finish, until, type Project } from './project.ts';

const LIMIT_MS = 120_000;
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';

interface Top extends Terminal {
  /** What a person sees now, line by line. */
  lines(): string[];
  see(what: string | RegExp): Promise<void>;
  /** Types it until this is seen: a question that was just asked takes no answer. */
  insist(keys: string, what: string | RegExp): Promise<void>;
  readonly pid: () => number;
}

function openTop(project: Project, ...args: string[]): Top {
  const file = join(project.root, 'top.pid');
  const terminal = openTerminal(project, ['top', ...args], { before: `echo $$ > ${file}; exec ` });
  const lines = (): string[] => replay(terminal.screen());
  const isSeen = (what: string | RegExp): boolean => {
    const text = lines().join('\n');
    return typeof what === 'string' ? text.includes(what) : what.test(text);
  };
  const look = async (what: string | RegExp, before: () => void = () => undefined): Promise<void> => {
    try {
      await until(
        String(what),
        () => {
          if (isSeen(what)) return true;
          before();
          return false;
        },
        30_000,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message} on:\n${lines().join('\n')}`, { cause: error });
    }
  };
  return {
    ...terminal,
    lines,
    see: (what) => look(what),
    insist: (keys, what) => look(what, () => terminal.type(keys)),
    pid: () => Number(readFileSync(file, 'utf8')),
  };
}

/** The alternate screen after what was written to it; only what the program may write is understood. */
function replay(text: string): string[] {
  const screen: string[] = [];
  const at = text.lastIndexOf(ENTER);
  if (at === -1 || text.lastIndexOf(LEAVE) > at) return screen;
  for (const [, row, rest = '', isErased] of text
    .slice(at)
    .replaceAll(/\u001b\[(?:\d+m|\?\d+[hl])/g, '')
    .matchAll(/\u001b\[(\d+);1H([^\u001b]*)\u001b\[K|(\u001b\[2J)/g))
    if (isErased === undefined) screen[Number(row) - 1] = rest;
    else screen.length = 0;
  return Array.from(screen, (line) => line ?? '');
}

/** What was shown, without what the program itself writes beside text. */
const OURS = /\u001b\[(?:\d+m|\?(?:1049|25|7|2026)[hl]|2J|K|\d+;1H)/g;

function resize(pid: number, columns: number, rows: number): void {
  const place = readlinkSync(`/proc/${pid}/fd/0`);
  execFileSync('stty', ['-F', place, 'cols', String(columns), 'rows', String(rows)]);
}

async function createAsking(): Promise<Project> {
  const command = "rm -rf old '\u001b]0;owned\u0007'";
  const server = await startModelServer({
    script: [{ tool: { intent: 'run-command', command } }, { say: 'Removed.' }],
  });
  onTestFinished(() => server.stop());
  const project = createProject({
    config: `runtimes: { native: { endpoint: "${server.url}", apiKey: "env:MODEL_KEY", model: m } }\n`,
    env: { MODEL_KEY: 'k', CAISSON_HEARTBEAT_MS: '300' },
  });
  project.write('old/file.txt', 'old\n');
  project.git('add', '.');
  project.git('commit', '-qm', 'old');
  await project.trust();
  return project;
}

test(
  'a run appears live, its call is allowed, another is cancelled, and SIGTERM leaves the screen as it was',
  { timeout: LIMIT_MS },
  async () => {
    const project = await createAsking();
    const top = openTop(project);
    await top.see('No runs yet');
    resize(top.pid(), 140, 24);
    await top.see(/\n(?:.*\n){18,}.*q quit/);
    const asking = finish(
      project.start('run', '-o', 'json', 'clean \u001b[2Jup', '--runtime', 'native', '--mode', 'full-auto'),
    );
    await top.see(/waits for you .*clean \\u001b\[2Jup/);
    top.type('a');
    await top.see(/Allow this call\?[^]*rm -rf old '\\u001b\]0;owned\\u0007'/);
    await top.insist('y', /^(?!Allow this call)/);
    expect(JSON.parse((await asking).stdout)).toMatchObject({ status: 'done', reply: 'Removed.' });
    await top.see(' done ');

    const script = 'echo printed by the agent; sleep 600';
    const started = await project.caisson(
      'run',
      '--detach',
      '--workspace',
      'empty',
      '--',
      'sh',
      '-c',
      script,
    );
    await top.see(/working .* \d+(?:\.\d+)?% +\d+\.\d MiB /); // two heartbeats
    top.type('\u001b[H\r');
    await top.see('dispatch.started');
    top.type('\t');
    await top.see('printed by the agent');
    resize(top.pid(), 60, 12);
    await top.see(/^run_.*\n(?:.*\n){10}escape back.*$/);
    expect(Math.max(...top.lines().map(({ length }) => length))).toBeLessThanOrEqual(60);
    top.type('\u001b');
    await top.see(/STATEv.*TASK/);
    top.type('c');
    await top.see('Cancel this run?');
    await top.insist('y', /^(?!Cancel this run)/);
    await top.see('cancelled');
    expect(
      JSON.parse((await project.caisson('show', started.stdout.trim(), '-o', 'json')).stdout),
    ).toMatchObject({
      status: 'cancelled',
    });

    process.kill(top.pid(), 'SIGTERM');
    expect(await top.ended).toBe(0);
    const screen = top.screen();
    expect(screen.split(ENTER)).toHaveLength(2);
    expect(screen.endsWith(LEAVE)).toBe(true);
    expect(screen.replaceAll(OURS, '').replaceAll(/[\r\n]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  },
);

test.each([
  ['q', (top: Top) => top.type('q')],
  ['ctrl-c', (top: Top) => top.type('\u0003')],
  ['SIGINT', (top: Top) => process.kill(top.pid(), 'SIGINT')],
  ['SIGHUP', (top: Top) => process.kill(top.pid(), 'SIGHUP')],
  ['SIGQUIT', (top: Top) => process.kill(top.pid(), 'SIGQUIT')],
])('%s ends it and leaves the screen', { timeout: LIMIT_MS }, async (_, end) => {
  const top = openTop(createProject());
  await top.see('No runs yet');
  end(top);
  expect(await top.ended).toBe(0);
  expect(top.screen().endsWith(LEAVE)).toBe(true);
});

test(
  'a shell gets its terminal back where top is stopped, also from outside, and top goes on',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    // A shell with job control: it prints the mode of its terminal, and goes on with top.
    const behind = '; stty -a | grep -o ".icanon"; fg >/dev/null; stty -a | grep -o ".icanon"; fg >/dev/null';
    const shell = openTerminal(project, ['top'], { before: 'echo $$ > shell.pid; set -m; ', behind });
    const opened = (): number => shell.screen().split(ENTER).length - 1;
    const isShown = (): boolean =>
      shell.screen().lastIndexOf('No runs yet') > shell.screen().lastIndexOf(ENTER);
    const seen = (times: number) =>
      until(`screen ${times}`, () => opened() >= times && isShown(), 30_000).catch((error: unknown) => {
        throw new Error(JSON.stringify(shell.screen().slice(-2000)), { cause: error });
      });
    await seen(1);
    const shellPid = readFileSync(join(project.root, 'shell.pid'), 'utf8').trim();
    const [pid] = readFileSync(`/proc/${shellPid}/task/${shellPid}/children`, 'utf8').trim().split(' ');
    process.kill(Number(pid), 'SIGTSTP');
    await until('the mode of the terminal', () => /[ -]icanon/.test(shell.screen()), 30_000);
    await seen(2);
    shell.type('\u001a');
    await until('its second mode', () => shell.screen().split('icanon').length === 3, 30_000);
    expect(shell.screen().match(/[ -]icanon/g)).toEqual([' icanon', ' icanon']);
    await until('the screen once more', () => opened() >= 3 && isShown(), 30_000);
    shell.type('q');
    await shell.ended;
    expect(shell.screen().endsWith(LEAVE)).toBe(true);
  },
);

test(
  'it goes on when its daemon is killed, and shows the same without one',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    expect((await project.caisson('run', '--', 'true')).code).toBe(0);
    expect((await project.caisson('up', '-d')).code).toBe(0);
    onTestFinished(async () => void (await project.caisson('down', '--now')));
    const { pid } = JSON.parse((await project.caisson('status', '-o', 'json')).stdout) as { pid: number };
    const top = openTop(project);
    await top.see(/0 queued, daemon\n[^]* done .* true/);
    process.kill(pid, 'SIGKILL');
    await top.see('The daemon went away');
    await top.see(/no daemon\n[^]* done .* true/);
    top.type('q');
    expect(await top.ended).toBe(0);
    expect(top.screen().endsWith(LEAVE)).toBe(true);
  },
);

test(
  'without a terminal the table is printed once, and -o json prints one object',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'true');
    const { stdout, code } = await project.caisson('top');
    expect([code, stdout.split('\n').length]).toEqual([0, 4]);
    expect(stdout).toMatch(/^caisson top {2}0 running, 0 queued, no daemon\nRUN .*\n\S+ +done .* true\n$/);
    const { runs, residents } = JSON.parse((await project.caisson('top', '-o', 'json')).stdout) as {
      runs: { runId: string }[];
      residents: unknown;
    };
    expect([runs.map((run) => run.runId), residents]).toEqual([[runId], null]);
    expect((await project.caisson('top', '--sort', 'colour')).code).toBe(2);
  },
);
