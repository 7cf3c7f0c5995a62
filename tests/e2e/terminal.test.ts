/** Every command on a real terminal, in a project where everything that can have a name has a hostile one. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../packages/cli/src/command-table.ts';
import { openTerminal, quote } from './on-terminal.ts';
import { createProject, until, type Project } from './project.ts';

const LIMIT_MS = 240_000;
/** So many terminals at once. */
const WIDTH = 4;

/** Title, clipboard, link, colours that are not ours, C1, direction, invisible letters. */
const EVIL = [
  'e\u001b]0;owned\u0007\u001b]52;c;AAAA\u0007',
  '\u001b]8;;http:x\u001b\\link\u001b]8;;\u001b\\',
  '\u001b[35m\u001b[8m\u001b[2J\u009b31m\u0085\u007f\u202e\u2066\u061c\u200b\u2028\u{e0041}\r',
].join('');
/** For a name, which has to stay on one line. */
const FORGED = `${EVIL}\nforged: all is well`;
const PROOF = 'e\\u001b]0;owned';

/** What our own output consists of beside text: five styles, their ends, and the line that changes. */
const OURS = /\u001b\[(?:1|2|22|31|32|33|39)m|\r\u001b\[2K/g;

function expectHarmless(screen: string, what: string): void {
  const left = screen.replaceAll(OURS, '').replaceAll(/\r*\n/g, '\n');
  // A tab is part of a diff, and a text of several lines is indented.
  expect(left.replaceAll(/[\t\n]/g, ''), what).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(left, what).not.toMatch(/^forged/m);
}

async function readScreen(...given: Parameters<typeof openTerminal>): Promise<string> {
  const terminal = openTerminal(...given);
  await terminal.ended;
  return terminal.screen();
}

async function show(project: Project, ...args: string[]): Promise<string> {
  const screen = await readScreen(project, args);
  expectHarmless(screen, JSON.stringify(args));
  return screen;
}

async function showAll(project: Project, lines: readonly (readonly string[])[]): Promise<string[]> {
  const screens: string[] = [];
  for (let first = 0; first < lines.length; first += WIDTH)
    screens.push(
      ...(await Promise.all(lines.slice(first, first + WIDTH).map((line) => show(project, ...line)))),
    );
  return screens;
}

function hostileConfig(endpoint: string): string {
  const [evil, forged] = [EVIL, FORGED].map((text) => JSON.stringify(text));
  return `
runtimes:
  native: { endpoint: "${endpoint}", apiKey: "env:MODEL_KEY", model: ${evil} }
  codex: { bin: ${JSON.stringify(`${FORGED} program`)} }
agents:
  reviewer: { runtime: native, systemPrompt: ${forged} }
policy:
  rules: [ { command: "npm publish", action: deny, reason: ${forged} } ]
`;
}

async function createHostileProject(): Promise<Project> {
  const server = await startModelServer({
    script: [
      { tool: { intent: 'run-command', command: `rm -rf old '${FORGED}'` } },
      { say: `${EVIL}\nsecond line` },
    ],
  });
  onTestFinished(() => server.stop());
  const project = createProject({
    folder: EVIL.replaceAll(/[/\\]/g, ''),
    config: hostileConfig(server.url),
    env: { MODEL_KEY: 'k' },
  });
  project.write('old/file.txt', 'old\n');
  project.write(`defs/agents/${EVIL.replaceAll('/', '')}.yaml`, `"${EVIL}": [`);
  project.write('agents.yaml', `{ systemPrompt: ${JSON.stringify(FORGED)}, model: ${JSON.stringify(EVIL)} }`);
  project.write('not-a-proof.tar', EVIL);
  project.write('bin/gemini', `#!/bin/sh\nprintf '%s' ${quote(FORGED)}\n`);
  chmodSync(join(project.root, 'bin/gemini'), 0o755);
  project.env['PATH'] = `${join(project.root, 'bin')}:${project.env['PATH'] ?? ''}`;
  project.git('add', '.');
  project.git('commit', '-qm', 'hostile');
  await project.trust();
  return project;
}

/** A plain command that prints, makes and asks with hostile names. */
function hostileCommand(): string[] {
  const asked = { question: EVIL, options: [FORGED], context: { [FORGED]: EVIL } };
  const script = [
    `printf '%s\n' ${quote(EVIL)}; printf '%s\n' ${quote(EVIL)} >&2`,
    `mkdir -p ${quote(EVIL.replaceAll('/', ''))}; printf x > ${quote(FORGED.replaceAll('/', ''))}`,
    `printf '%s\n' ${quote(EVIL)} > README.md`,
    `printf '%s' ${quote(JSON.stringify(asked))} > .caisson/needs_input.json`,
  ].join('\n');
  return ['run', '--session', 's', '--verify', `exit 1 # ${FORGED}`, '--', 'sh', '-c', script];
}

/** How each command is used. One that is missing here fails the test: every command has to pass by. */
const USES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  run: [['--mode', FORGED, 'x'], [`--${FORGED}`], ['@missing\u001b[2J'], ['--agent', FORGED, 'x']],
  runs: [[], ['--session', FORGED], ['--limit', FORGED]],
  top: [['--once'], ['--once', '--filter', FORGED], ['--once', '--sort', FORGED]],
  show: [['latest'], [FORGED]],
  attach: [['latest'], [FORGED]],
  events: [
    ['--type', FORGED],
    ['--run', FORGED],
    ['--after', FORGED],
  ],
  mcp: [
    ['--scope', FORGED],
    ['--budget', FORGED],
  ],
  logs: [
    ['latest'],
    ['latest', '--stdout'],
    ['latest', '--stderr'],
    ['latest', '--verify'],
    ['latest', '--after', FORGED],
  ],
  cancel: [[FORGED], ['latest']],
  diff: [['latest'], [FORGED]],
  du: [[], ['--state-dir', FORGED]],
  outputs: [['latest'], ['--to', FORGED], [FORGED]],
  apply: [['latest', '--force'], [FORGED]], // otherwise it asks, because the check did not pass
  retry: [[FORGED]],
  continue: [[FORGED, EVIL]],
  questions: [[], ['--all']],
  answer: [[FORGED, FORGED]],
  approvals: [['--all']],
  approve: [[FORGED]],
  deny: [[FORGED]],
  board: [[], ['--session', 's', 'set', FORGED, EVIL], ['--session', 's'], ['--session', FORGED], [FORGED]],
  context: [[], ['--session', 's'], ['--session', FORGED], [FORGED]],
  send: [
    [FORGED, EVIL],
    ['latest', FORGED],
  ],
  export: [['latest', '--to', 'proof.tar'], ['latest', '--to', FORGED], [FORGED]],
  verify: [['latest'], ['not-a-proof.tar'], [`./${FORGED}`], ['latest', '--key', FORGED]],
  keys: [
    [],
    ['--export'],
    ['--trust', 'not-a-proof.tar'],
    ['--distrust', FORGED],
    ['--export', '--id', FORGED],
  ],
  budget: [[], ['--session', FORGED]],
  up: [['--print-unit'], ['--print-unit', '--state-dir', FORGED], [FORGED]],
  down: [[], ['--drain', FORGED], [FORGED]],
  status: [[], ['--state-dir', FORGED], [FORGED]],
  reload: [[], [FORGED]],
  gc: [[], ['--older-than', FORGED]],
  host: [[FORGED]],
  register: [
    ['--from', 'defs'],
    ['--from', FORGED],
  ],
  'agents register': [
    ['good', 'agents.yaml'],
    [FORGED, 'agents.yaml'],
    ['good', FORGED],
  ],
  'agents list': [[]],
  'agents get': [['reviewer'], ['good'], [FORGED]],
  ...Object.fromEntries(
    ['capabilities', 'envs', 'pipelines'].flatMap((kind) => [
      [`${kind} register`, [[FORGED, FORGED]]],
      [`${kind} list`, [[]]],
      [`${kind} get`, [[FORGED]]],
    ]),
  ),
  'policy check': [
    ['--', 'npm publish'],
    ['--', FORGED],
  ],
  init: [[], ['--runtime', FORGED]],
  trust: [
    ['-o', 'json'],
    ['--yes', '--send-key', FORGED],
  ],
  seal: [['--all'], [FORGED]],
  'senses list': [[], ['--state-dir', FORGED]],
  'senses show': [[FORGED]],
  'senses trigger': [[FORGED]],
  'senses logs': [[FORGED]],
  'workflows list': [[], ['--state-dir', FORGED]],
  'workflows logs': [[FORGED]],
  'workflows trigger': [[FORGED, '--payload', `@${FORGED}`]],
  'threads list': [[], ['--status', FORGED]],
  'threads show': [[FORGED]],
  'threads cancel': [[FORGED]],
  'threads resume': [[FORGED]],
  'residents list': [[], ['--state-dir', FORGED]],
  'residents reset': [[FORGED]],
  'residents drain': [[FORGED]],
  'residents restart': [[FORGED]],
  schedules: [[], ['--state-dir', FORGED]],
  branches: [[], [FORGED], ['--push'], [FORGED, '--drop']],
  doctor: [[], ['--state-dir', FORGED]],
  ui: [['--port', FORGED], [FORGED], ['--stop']],
  'tokens create': [
    [FORGED, '--scope', 'read'],
    ['x', '--scope', FORGED],
    ['x', '--expires', FORGED],
  ],
  'tokens list': [[]],
  'tokens revoke': [[FORGED]],
  runtimes: [[]],
  config: [[], ['runtimes'], [FORGED], ['--state-dir', FORGED]],
  completion: [['bash'], [FORGED]],
  help: [[], ['run'], [FORGED]],
  version: [[], [FORGED]],
  forget: [[FORGED], ['latest']],
};

test('no name in a hostile project is obeyed by the terminal', { timeout: LIMIT_MS }, async () => {
  expect(Object.keys(USES).toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
  const project = await createHostileProject();
  await askForLeave(project);
  expect(await show(project, ...hostileCommand())).toContain(PROOF);
  const lines = COMMANDS.flatMap(({ name }) => {
    const uses = (USES[name] ?? []).map((words) => [...name.split(' '), ...words]);
    return name === 'forget' ? uses : [...uses.slice(0, 1).map(withJson), ...uses];
  });
  const screens = await showAll(project, lines);
  // Nothing of it would be worth much if the names had not been there to be shown.
  // A narrow column breaks them.
  const isShown = (screen = ''): boolean => screen.replaceAll(/\s/g, '').includes(PROOF);
  const shown = lines.filter((_, index) => isShown(screens[index])).map(([name]) => name);
  const silent = COMMANDS.map(({ name }) => name.split(' ')[0] ?? '').filter((name) => !shown.includes(name));
  expect(silent).toEqual([]);
});

/** An agent that asks leave with a hostile command cannot draw the question itself. */
async function askForLeave(project: Project): Promise<void> {
  const terminal = openTerminal(project, ['run', EVIL, '--agent', 'reviewer', '--mode', 'full-auto']);
  await until('the question', () => terminal.screen().includes('[y/N]'), 60_000);
  await showAll(project, [['approvals'], ['show', 'latest'], ['logs', 'latest']]);
  terminal.type('n\n');
  await terminal.ended;
  const screen = terminal.screen();
  expectHarmless(screen, 'run');
  expect(screen).toMatch(/Allow\?.*e\\u001b\]0;owned/);
  expect(screen).toContain('second line');
}

function withJson(line: readonly string[]): string[] {
  const end = line.includes('--') ? line.indexOf('--') : line.length;
  return [...line.slice(0, end), '-o', 'json', ...line.slice(end)];
}

test('a variable with a hostile name is warned of without being obeyed', async () => {
  const project = createProject();
  const before = `env ${quote(`CAISSON_LIMITS_${FORGED}=1`)} `;
  for (const name of ['version', 'doctor']) {
    const screen = await readScreen(project, [name], { before });
    expectHarmless(screen, name);
    expect(screen).toContain(PROOF);
  }
});

test(
  'a configuration with hostile keys is refused by every command without being obeyed',
  { timeout: LIMIT_MS },
  async () => {
    const key = JSON.stringify(FORGED);
    const project = createProject({
      config: `${key}: ${key}\nlimits: { ${key}: 1, timeout: ${key} }\nruntime: ${key}\n`,
    });
    const screens = await showAll(project, [
      ['config'],
      ['doctor'],
      ['runs'],
      ['runtimes'],
      ['verify', 'latest'],
      ['run', 'x'],
      ['config', '-o', 'json'],
    ]);
    for (const screen of screens) expect(screen).toContain(PROOF);
    project.write('caisson.yaml', `${EVIL}: [`);
    await showAll(project, [['config'], ['doctor']]);
  },
);

test(
  'what an agent printed is escaped on a terminal, also alone, and is unchanged in a pipe or when asked for',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    const { runId } = await project.run(
      '--',
      'sh',
      '-c',
      `printf '%s' ${quote(EVIL)}; printf '%s' ${quote(EVIL)} > x`,
    );
    const logs = ['logs', runId, '--stdout'];
    expect(await show(project, ...logs)).toContain(PROOF);
    expect(await show(project, ...logs, '-f')).toContain(PROOF);
    for (const args of [logs, ['diff', runId]]) {
      // stderr is no terminal here, and CI would switch colours off
      const screen = await readScreen(project, args, { behind: ' 2>/dev/null' });
      expectHarmless(screen, args.join(' '));
      expect(screen).toContain(PROOF);
    }
    expect((await project.caisson(...logs)).stdout).toBe(EVIL);
    expect((await project.caisson('diff', runId)).stdout).toContain(EVIL.replace('\r', ''));
    expect(await readScreen(project, [...logs, '--raw'])).toContain('\u001b]0;owned\u0007');
  },
);
