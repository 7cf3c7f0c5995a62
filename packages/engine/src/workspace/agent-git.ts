/**
 * The agent's own git dir: same branch, same commits, its own objects. The user's objects are borrowed read-only;
 * config and hooks are ours and are bound read-only, so nothing the agent does reaches the user's repository, and
 * nothing the user configured runs for the agent.
 */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Ref } from '@caisson/ground';
import { READ_ONLY_GIT_CONTROLS } from '@caisson/protocol';

import type { AgentGit } from './contract.ts';
import { describeOwnSettings, describeUser } from './git-settings.ts';
import { readIndexFile } from './index-file.ts';
import type { Repository } from './locate-repository.ts';

export interface AgentGitOptions {
  readonly repository: Repository;
  readonly refs: readonly Ref[];
  readonly path: string;
  /** Where the sandbox shows it. */
  readonly target: string;
  readonly headRef: string | null;
  readonly headCommit: string | null;
  readonly indexFile: string;
  readonly ignoreRules: string;
  /** Where we keep a copy of the agent's refs, out of its reach; null for a git dir without an agent. */
  readonly givenRefsFile: string | null;
  /** Where the user's settings for other repositories of the agent are kept until its start; null without an agent. */
  readonly settingsFile: string | null;
  readonly sandboxed: boolean;
}

export async function createAgentGit(options: AgentGitOptions): Promise<AgentGit> {
  const { repository, path } = options;
  const at = (name: string): string => join(path, name);
  const borrowed = [repository.objectDir, ...repository.borrowedDirs];
  const folders = ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'hooks', 'info', 'borrowed'];
  await Promise.all(folders.map((folder) => mkdir(at(folder), { recursive: true })));
  await Promise.all([
    writeFile(at('HEAD'), headText(options)),
    writeFile(at('config'), configText(repository)),
    writeFile(at('packed-refs'), packedRefsText(options.refs)),
    options.givenRefsFile === null
      ? undefined
      : writeFile(options.givenRefsFile, packedRefsText(options.refs)),
    options.settingsFile === null
      ? undefined
      : writeFile(options.settingsFile, describeOwnSettings(repository)),
    writeFile(at('info/exclude'), options.ignoreRules),
    writeFile(
      at('objects/info/alternates'),
      borrowed.map((_folder, index) => `../borrowed/${index}\n`).join(''),
    ),
    copyIndex(options.indexFile, at('index')),
    repository.shallow === null ? undefined : writeFile(at('shallow'), repository.shallow),
    ...borrowed.map((folder, index) =>
      options.sandboxed ? mkdir(at(`borrowed/${index}`)) : symlink(folder, at(`borrowed/${index}`)),
    ),
  ]);
  return {
    source: path,
    target: options.target,
    readOnly: [...READ_ONLY_GIT_CONTROLS],
    objects: [
      ...borrowed.map((source, index) => ({
        source,
        target: join(options.target, 'borrowed', String(index)),
      })),
      // A borrowed folder names its own alternates by absolute path.
      ...repository.borrowedDirs.map((source) => ({ source, target: source })),
    ],
  };
}

function headText(options: AgentGitOptions): string {
  if (options.headRef !== null) return `ref: ${options.headRef}\n`;
  return options.headCommit === null ? 'ref: refs/heads/main\n' : `${options.headCommit}\n`;
}

/** A sandbox may show other owners than the index has; git would read every file again. */
const NEUTRAL_STAT = '\tcheckStat = minimal\n';

function configText(repository: Repository): string {
  const format =
    repository.objectFormat === 'sha256'
      ? '\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n[core]\n'
      : '\trepositoryFormatVersion = 0\n';
  return (
    `[core]\n${format}\tbare = false\n\tfileMode = true\n\tlogAllRefUpdates = true\n${NEUTRAL_STAT}${lineEndings(repository)}` +
    `${describeUser(repository)}[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n`
  );
}

/** The user's setting for line endings, or every file they touch would look rewritten. */
function lineEndings({ config }: Repository): string {
  const known = [
    ['autocrlf', /^(true|false|input)$/],
    ['eol', /^(lf|crlf|native)$/],
  ] as const;
  return known
    .map(([key, values]) => [key, config.get(`core.${key}`) ?? '', values] as const)
    .filter(([, value, values]) => values.test(value))
    .map(([key, value]) => `\t${key} = ${value}\n`)
    .join('');
}

function packedRefsText(refs: readonly Ref[]): string {
  const visible = refs.filter((ref) => ref.name !== 'refs/stash');
  return `# pack-refs with: sorted \n${visible.map((ref) => `${ref.objectId} ${ref.name}\n`).join('')}`;
}

/** The agent may read the copy: it has nothing that a link leads to. */
async function copyIndex(from: string, to: string): Promise<void> {
  const found = await readIndexFile(from);
  if (found !== null) await writeFile(to, found.bytes);
}
