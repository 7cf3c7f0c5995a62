import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Violation } from '../../scripts/boundaries/violation.ts';
import { findViolations } from '../../scripts/check-boundaries.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What is put into a copy of this repository: title, the rule that must catch it, place, text. */
const VIOLATIONS = [
  [
    'a worker that reaches for the engine',
    'package-import',
    'packages/worker/src/steps/x.ts',
    "import { loadConfig } from '@caisson/engine';",
  ],
  [
    'a worker that does so only when it runs',
    'package-import',
    'packages/worker/src/steps/x.ts',
    "await import('@caisson/engine');",
  ],
  [
    'a worker that makes itself a require',
    'computed-import',
    'packages/worker/src/steps/x.ts',
    "import { createRequire } from 'node:module';\ncreateRequire(import.meta.url)('@caisson/engine');",
  ],
  [
    'a worker that computes what it imports',
    'computed-import',
    'packages/worker/src/steps/x.ts',
    "const name = '@caisson/' + 'engine';\nawait import(name);",
  ],
  [
    'a name in a template',
    'computed-import',
    'packages/worker/src/steps/x.ts',
    "const name = 'engine';\nawait import(`@caisson/${name}`);",
  ],
  [
    'a module asked for by way of the process',
    'computed-import',
    'packages/worker/src/steps/x.ts',
    "process.getBuiltinModule('node:module').createRequire(import.meta.url)('@caisson/engine');",
  ],
  [
    'a type taken from where nothing may be taken',
    'package-import',
    'packages/ground/src/files/x.ts',
    "import type { Engine } from '@caisson/engine';",
  ],
  ['an engine that imports a face', 'package-import', 'packages/engine/src/bus/x.ts', "import 'caisson';"],
  [
    'an import past the door of a package',
    'package-door',
    'packages/engine/src/bus/x.ts',
    "import '@caisson/ground/src/clock.ts';",
  ],
  [
    'a relative path out of a package',
    'package-door',
    'packages/engine/src/bus/x.ts',
    "import '../../../ground/src/clock.ts';",
  ],
  ['an unlisted package', 'package-unknown', 'packages/extras/src/x.ts', 'export const x = 1;'],
  ['an npm package in protocol', 'npm-import', 'packages/protocol/src/x.ts', "import 'yaml';"],
  ['a Node module in protocol', 'pure-package', 'packages/protocol/src/x.ts', "import 'node:fs';"],
  [
    'a Node global in policy',
    'pure-package',
    'packages/policy/src/x.ts',
    'export const x = Buffer.alloc(1);',
  ],
  [
    'an import past the door of a room',
    'room-door',
    'packages/engine/src/evidence/x.ts',
    "import '../store/errors.ts';",
  ],
  [
    'a door that is not open to this room',
    'room-import',
    'packages/engine/src/bus/x.ts',
    "export * from '../ledger/index.ts';",
  ],
  ['an unlisted room', 'room-unknown', 'packages/engine/src/attic/x.ts', 'export const x = 1;'],
  ['a loose file in ground', 'room-unknown', 'packages/ground/src/x.ts', 'export const x = 1;'],
  [
    'an import past the door of a room of ground',
    'room-door',
    'packages/ground/src/staging/x.ts',
    "import '../git/git.ts';",
  ],
  [
    'an import past the door of a room of the worker',
    'room-door',
    'packages/worker/src/acp/x.ts',
    "import '../native/answers.ts';",
  ],
  [
    'a door of the worker that is not open to this room',
    'room-import',
    'packages/worker/src/inside/x.ts',
    "import type { AttemptContext } from '../attempt/index.ts';",
  ],
  [
    'a room that imports the composition',
    'room-composition',
    'packages/engine/src/bus/x.ts',
    "import '../index.ts';",
  ],
  [
    'a room that constructs another',
    'room-construction',
    'packages/engine/src/dispatch/x.ts',
    "import { openLedger } from '../ledger/index.ts';",
  ],
  [
    'a process outside of ground',
    'child-process',
    'packages/engine/src/compute/x.ts',
    "import { spawn } from 'node:child_process';",
  ],
  [
    'a thread outside of ground',
    'child-process',
    'packages/worker/src/steps/x.ts',
    "import 'worker_threads';",
  ],
  [
    'environment read in a room',
    'process-env',
    'packages/engine/src/secrets/x.ts',
    "export const x = process.env['HOME'];",
  ],
  [
    'environment read by another spelling',
    'process-env',
    'packages/engine/src/secrets/x.ts',
    "export const x = process['env'];",
  ],
  [
    'environment taken apart',
    'process-env',
    'packages/engine/src/secrets/x.ts',
    'const { env } = process; export default env;',
  ],
  [
    'environment by import',
    'process-env',
    'packages/engine/src/secrets/x.ts',
    "import { env } from 'node:process';",
  ],
  [
    'environment read in the worker',
    'process-env',
    'packages/worker/src/steps/x.ts',
    'export const x = process.env;',
  ],
  ['printing past the output', 'printing', 'packages/cli/src/commands/x.ts', "process.stdout.write('x');"],
  ['printing in the engine', 'printing', 'packages/engine/src/bus/x.ts', "console.log('x');"],
  [
    'writing to stdout in the worker',
    'printing',
    'packages/worker/src/steps/x.ts',
    "process.stdout.write('x');",
  ],
  ['a raw topic', 'raw-topic', 'packages/engine/src/bus/x.ts', "export const x = 'caisson:run-started';"],
  ['a raw topic in a template', 'raw-topic', 'packages/cli/src/x.ts', 'export const x = `caisson:warning`;'],
  [
    'a field of an event by its text',
    'untyped-event',
    'packages/cli/src/x.ts',
    "export const x = (event: never) => event['reason'];",
  ],
  [
    "a field of an event's data by its text",
    'untyped-event',
    'packages/engine/src/dispatch/x.ts',
    "export const x = (ended: never) => ended.data['usage'];",
  ],
  [
    'git outside of the workspace room',
    'git',
    'packages/engine/src/dispatch/x.ts',
    "export const x = { file: 'git', args: [] };",
  ],
  [
    "ground's git outside of the workspace room",
    'git',
    'packages/engine/src/dispatch/x.ts',
    "import { runGit } from '@caisson/ground';",
  ],
  [
    'a stage for tests in a program',
    'stage-import',
    'packages/engine/src/bus/x.ts',
    "import './y-stage.ts';",
  ],
] as const;

const ALLOWED = [
  [
    'a ring of types',
    'packages/engine/src/bus/x.ts',
    "import type { X } from './x.ts';\nexport type Y = X;\n",
  ],
  [
    'a local variable that is called process',
    'packages/ground/src/files/x.ts',
    'export const x = (process: { stdout: string }) => process.stdout;\n',
  ],
  [
    'a property that is called console',
    'packages/engine/src/bus/x.ts',
    'export const x = (tools: { console: { log: number } }) => tools.console.log;\n',
  ],
  [
    'a comment about process.env',
    'packages/engine/src/bus/x.ts',
    '// process.env, console.log and caisson:warning\nexport const x = 1;\n',
  ],
  ['an open door', 'packages/engine/src/evidence/x.ts', "export type * from '../store/index.ts';\n"],
] as const;

/** Two rooms that know each other, by types alone: the second import closes the ring. */
const ROOM_RINGS: readonly {
  readonly packageName: string;
  readonly ring: readonly string[];
  readonly planted: readonly (readonly [path: string, text: string])[];
}[] = [
  {
    packageName: 'ground',
    ring: ['git', 'staging'],
    planted: [['packages/ground/src/git/ring.ts', "import type * as Staging from '../staging/index.ts';"]],
  },
  {
    packageName: 'worker',
    ring: ['attempt', 'pipeline'],
    planted: [
      ['packages/worker/src/attempt/ring.ts', "import type * as Pipeline from '../pipeline/index.ts';"],
    ],
  },
  {
    packageName: 'cli',
    ring: ['one.ts', 'rooms'],
    planted: [
      ['packages/cli/src/one.ts', "import './rooms/two.ts';"],
      ['packages/cli/src/rooms/two.ts', "import type { One } from '../one.ts';"],
    ],
  },
];

let copy: string;
let found: Violation[];

/** Each case is a file of its own, so that the whole copy is checked only once. */
const placeOf = (path: string, kind: string, index: number): string =>
  path.replace('/x.ts', `/${kind}-${index}.ts`);

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'caisson-boundaries-'));
  cpSync(join(ROOT, 'packages'), join(copy, 'packages'), {
    recursive: true,
    filter: (source) => !/\/(node_modules|dist)(\/|$)|\/dist\.\d+/.test(source),
  });
  for (const [index, [, , path, text]] of VIOLATIONS.entries()) put(placeOf(path, 'violation', index), text);
  for (const [index, [, path, text]] of ALLOWED.entries()) put(placeOf(path, 'allowed', index), text);
  put('packages/engine/src/bus/ring-a.ts', "import './ring-b.ts';");
  put('packages/engine/src/bus/ring-b.ts', "import './ring-c.ts';");
  put('packages/engine/src/bus/ring-c.ts', "import './ring-a.ts';");
  for (const [path, text] of ROOM_RINGS.flatMap(({ planted }) => planted)) put(path, text);
  found = findViolations(copy);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  writeFileSync(join(copy, path), `${text}\n`, { flag: 'wx' });
}

function rulesAt(path: string): string[] {
  return found.filter((violation) => violation.path === path).map(({ rule }) => rule);
}

describe('each way out of the architecture is caught', () => {
  it.each(VIOLATIONS.map(([title, rule, path], index) => [title, rule, placeOf(path, 'violation', index)]))(
    '%s',
    (_, rule, path) => {
      expect(rulesAt(path)).toEqual([rule]);
    },
  );

  it('a ring of imports', () => {
    const cycles = found.filter(({ rule, message }) => rule === 'cycle' && message.includes('ring-a.ts'));
    expect(cycles).toHaveLength(1);
  });

  it.each(ROOM_RINGS)('a ring of rooms in $packageName', ({ packageName, ring }) => {
    const rings = found.filter(({ rule }) => rule === 'room-cycle').map(({ message }) => message);
    const isPlanted = (message: string): boolean =>
      ring.every((room) => message.split(/ → |: /).includes(`${packageName}/${room}`));
    expect(rings.filter(isPlanted)).not.toEqual([]);
  });
});

describe('what is allowed is left alone', () => {
  it.each(ALLOWED.map(([title, path], index) => [title, placeOf(path, 'allowed', index)]))(
    '%s',
    (_, path) => {
      expect(rulesAt(path)).toEqual([]);
    },
  );
});

it('the command fails with the place, the rule and the reason', () => {
  const script = join(ROOT, 'scripts/check-boundaries.ts');
  const { status, stdout } = spawnSync(process.execPath, [script, copy], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /^packages\/engine\/src\/bus\/violation-\d+\.ts:1: \[printing\] console\.log: only the output of the CLI prints\.$/m,
  );
}, 60_000);
