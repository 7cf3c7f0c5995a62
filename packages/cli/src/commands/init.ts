import { lstatSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  CONFIG_FILE_NAME,
  describeMisnamedConfig,
  findDaemon,
  getCurrentFolder,
  inspectProject,
  loadConfig,
  locateRuntimes,
  readHostEnvironment,
  type ProjectInspection,
  type ResolvedConfig,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { chooseUsual, composeConfig } from '../compose-config.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { describeNext, formatFound } from '../format-found.ts';
import { RESIDENT_FILES, RESIDENT_KEYS } from '../init-residents.ts';
import type { Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';

export const command = defineCommand({
  usage: '[--runtime NAME] [--with residents] [--dry-run]',
  about:
    'Looks at the project (languages, package manager, tests), at the agents with their keys and log-ins, and at the\n' +
    'sandbox. Writes caisson.yaml into the project root, or into the current folder outside of any project, if a line of\n' +
    'it would help; otherwise it says that none is needed. Never overwrites, and runs nothing of the project. With --with\n' +
    'residents also a sense that watches test results, and a workflow that has a red build fixed and reviewed.',
  options: {
    runtime: {
      type: 'string',
      value: 'NAME',
      names: 'runtimes',
      summary: 'default runtime to write; otherwise one is chosen where several are installed',
    },
    with: {
      type: 'string',
      value: 'PART',
      choices: ['residents'],
      summary: 'also write an example of this: residents (senses and workflows)',
    },
    'dry-run': { type: 'boolean', summary: 'print the file, and write nothing' },
  },
  examples: [
    { line: 'caisson init', says: 'What is here, and a short caisson.yaml if one is needed.' },
    { line: 'caisson init --runtime codex', says: 'The same with codex as the default runtime.' },
    { line: 'caisson init --with residents', says: 'With a first sense and a first workflow.' },
    { line: 'caisson init --dry-run -o json', says: 'The same for a program, and nothing is written.' },
  ],
  async run({ options, output }) {
    const config = await loadConfig({ flags: { state: options['state-dir'] } });
    const file = join(config.projectRoot, CONFIG_FILE_NAME);
    const files = filesOf(options.with);
    const isThere = isFile(file);
    const isExtended = isThere && options.with !== undefined;
    if (!options['dry-run']) {
      refuseMisnamed(config);
      if (isThere && !isExtended) throw refuseWritten(file);
      for (const path of Object.keys(files))
        if (isFile(join(config.projectRoot, path))) throw refuseCode(path);
    }
    if (options.runtime !== undefined) refuseUnknown(options.runtime, config);
    const found = await inspectProject(config, getCurrentFolder());
    const own = isExtended ? null : composeConfig(found, options.runtime);
    const text = options.with === undefined ? own : [own, RESIDENT_KEYS].filter(isText).join('\n');
    const isWritten = text !== null && !options['dry-run'];
    if (isWritten && !isExtended) await writeNew(file, text);
    for (const [path, code] of isWritten ? Object.entries(files) : [])
      await writeNew(join(config.projectRoot, path), code);
    const runtime = chooseUsual(found, options.runtime);
    const isServed =
      options.with !== undefined && (await findDaemon({ stateDir: options['state-dir'] })).kind === 'answers';
    output.result({ file, isThere, isWritten: isWritten && !isThere, text, files, runtime, found }, () => [
      ...formatFound(found, output.style, output.wrapColumns()),
      '',
      ...describeFile(file, text, { isThere, isExtended, isWritten }),
      ...describeFiles(files, { isWritten, isServed, tests: found.repository.tests }),
      ...describeNext(found, runtime, { isSaid: options.with !== undefined }),
    ]);
    return EXIT_CODES.finished;
  },
});

interface FileNews {
  readonly isThere: boolean;
  /** A person adds the lines: a file of theirs is never changed. */
  readonly isExtended: boolean;
  readonly isWritten: boolean;
}

function describeFile(
  file: string,
  text: string | null,
  { isThere, isExtended, isWritten }: FileNews,
): Lines {
  if (text === null) return [`No ${CONFIG_FILE_NAME} is needed: the defaults fit what was found.`];
  if (isExtended) return [`Add to ${file}, which is left as it is:`, ...indent(text)];
  if (isThere) return [`${file} exists and is left as it is. Without it there would be:`, ...indent(text)];
  return isWritten ? [`Wrote ${file}:`, ...indent(text)] : [`Would write ${file}:`, ...indent(text)];
}

interface PartNews {
  readonly isWritten: boolean;
  /** A daemon has read the configuration already. */
  readonly isServed: boolean;
  readonly tests: ProjectInspection['repository']['tests'];
}

/** What follows is the same for every part, and short. */
function describeFiles(
  files: Readonly<Record<string, string>>,
  { isWritten, isServed, tests }: PartNews,
): Lines {
  const paths = Object.keys(files);
  if (paths.length === 0) return [];
  return [
    `${isWritten ? 'Wrote' : 'Would write'} ${paths.join(' and ')}.`,
    'The sense reads how your tests ended, once they write it (a report of vitest or jest says more; see senses/tests.mts):',
    `  ${tests ?? 'YOUR TESTS'}; echo $? > test-exit-code.txt`,
    `Then: caisson trust --yes, caisson ${isServed ? 'reload' : 'up -d'}, and caisson logs --all -f (guide: docs/guides/residents.md).`,
    'For types in your editor: npm install --save-dev CLONE/packages/cli (the clone of Caisson)',
    '',
  ];
}

function filesOf(part: string | undefined): Readonly<Record<string, string>> {
  if (part === undefined) return {};
  if (part === 'residents') return RESIDENT_FILES;
  throw new UsageError(`--with: "${part}" is unknown.`, { remedy: 'There is --with residents.' });
}

const isText = (text: string | null): text is string => text !== null;

const indent = (text: string): Lines => [
  '',
  ...text
    .trimEnd()
    .split('\n')
    .map((row) => `  ${row}`),
  '',
];

function refuseMisnamed({ projectRoot }: ResolvedConfig): void {
  const misnamed = describeMisnamedConfig(projectRoot, getCurrentFolder());
  if (misnamed !== null) throw new UsageError(misnamed);
}

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const refuseCode = (path: string): UsageError =>
  new UsageError(`${path} exists already and was left as it is.`, {
    remedy: 'Move it away; or declare it in caisson.yaml (guide: docs/guides/residents.md).',
  });

function refuseUnknown(name: string, { runtimes, folders }: ResolvedConfig): void {
  const known = locateRuntimes({ env: readHostEnvironment(), home: folders.home, runtimes });
  if (known.some((runtime) => runtime.name === name)) return;
  throw new UsageError(`there is no runtime "${name}".`, {
    remedy: `Known here: ${known.map((runtime) => runtime.name).join(', ')}.`,
  });
}

const refuseWritten = (file: string, cause?: Error): UsageError =>
  new UsageError(`${file} exists already and was left as it is.`, {
    remedy: 'caisson config shows its values.',
    ...(cause === undefined ? {} : { cause }),
  });

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(file, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync();
    } catch (error) {
      await rm(file, { force: true }); // half a file would be read as a complete one
      throw error;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === 'EEXIST') throw refuseWritten(file, error);
    throw new UsageError(`${file} could not be written: ${error.message}.`, {
      remedy:
        error.code === 'ENOSPC'
          ? 'Free some space on that disk.'
          : 'Make the folder writable, or change to another one.',
      cause: error,
    });
  }
}
