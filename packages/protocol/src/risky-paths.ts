/**
 * The one table of files through which a piece of work could control a later program. Every exit uses it: the patch,
 * branches, checkpoints, work in place, the read-only mounts of the sandbox and the command gate.
 *
 * never  A program obeys it by itself: on `cd`, when an editor, a shell, an agent or git is started in the folder.
 *        It never leaves a run.
 * ask    A program obeys it when a person does an ordinary thing (pushes, installs, builds, starts the next run).
 *        It leaves a run when a person has agreed.
 *
 * R1  An entry counts at any depth: a program looks for its settings in the folder it is started in.
 * R2  It counts for everything below it, and in every spelling that some file system treats as the same name.
 * R3  An entry with `parts` is a file that people change every day: only these members of its JSON count.
 */
import { isRecord } from './is-record.ts';
import { RUNTIME_DESCRIPTORS } from './runtime-descriptors.ts';
import * as z from 'zod/mini';
import { foldName } from './fold-name.ts';
import { READ_ONLY_GIT_CONTROLS } from './git-dir-controls.ts';

export const RiskGrade = z.enum(['never', 'ask']);
export type RiskGrade = z.infer<typeof RiskGrade>;

/** A risky file of one project, at its one place, relative to the top of the workspace. */
export const OwnControl = z.object({ path: z.string(), grade: RiskGrade });
export type OwnControl = z.infer<typeof OwnControl>;

export const MAX_RISKY_LISTED = 256;

/** A change of grade `ask`, as results and events list it. */
export const ListedRisk = z.object({ path: z.string(), why: z.string() });
export type ListedRisk = z.infer<typeof ListedRisk>;

export interface RiskyPath {
  /** Relative to the folder in which a program looks for it; in lower case. */
  readonly path: string;
  readonly grade: RiskGrade;
  /** The program that obeys it, as the end of a sentence: "… is obeyed by". */
  readonly obeyedBy: string;
  /** R3: `['scripts', 'postinstall']` is one member, `['husky']` all of one. */
  readonly parts?: readonly (readonly string[])[];
  /** Parts that stay read-only while an agent works, where it needs the rest. Default: all of it. */
  readonly heldParts?: readonly string[];
}

export const RISKY_PATHS: readonly RiskyPath[] = [
  ...never('git', '.gitmodules'),
  { path: '.git', grade: 'never', obeyedBy: 'git', heldParts: READ_ONLY_GIT_CONTROLS },
  ...never('Caisson', 'caisson.yaml', 'caisson.yml', '.caisson'),
  ...never('git, for every commit', '.husky'),
  ...never('direnv', '.envrc'),
  ...Object.values(RUNTIME_DESCRIPTORS).flatMap(({ title, repository }) =>
    never(title, ...(repository?.obeyed ?? [])),
  ),
  ...ask('Claude Code, when it is used there', '.claude/commands', '.claude/agents', '.claude/skills'),
  ...never('agents that use MCP servers', '.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json'),
  ...never('agents that use MCP servers', '.roo/mcp.json', '.kiro/settings/mcp.json', '.amazonq/mcp.json'),
  ...never('agents that use MCP servers', '.continue/mcpservers'),
  ...never('Qwen Code', '.qwen/settings.json', '.qwen/extensions'),
  ...never('Crush', 'crush.json', '.crush.json'),
  ...never('Cursor', '.cursor/hooks.json'),
  ...never('aider', '.aider.conf.yml'),
  ...never('VS Code', '.vscode/tasks.json', '.vscode/settings.json'),
  ...ask('VS Code, when a person starts the debugger', '.vscode/launch.json'),
  ...never('Zed', '.zed/settings.json', '.zed/tasks.json'),
  ...ask('JetBrains programs, when the project is opened', '.idea'),
  ...never('vi', '.exrc', '.nvimrc', '.nvim.lua'),
  ...never('Emacs', '.dir-locals.el', '.dir-locals-2.el'),
  ...never('a debugger or a shell of a language', '.gdbinit', '.lldbinit', '.rprofile', '.ghci', '.irbrc'),
  ...never('a debugger or a shell of a language', '.pryrc'),
  ...ask('mise, when the folder is entered', 'mise.toml', '.mise.toml', '.mise'),
  ...ask('development containers, when the project is opened', '.devcontainer', '.devcontainer.json'),
  ...ask('GitHub, for every push', '.github/workflows', '.github/actions'),
  ...ask('GitLab, for every push', '.gitlab-ci.yml', '.gitlab/ci'),
  ...ask('Gitea or Forgejo, for every push', '.gitea/workflows', '.forgejo/workflows'),
  ...ask('CircleCI, for every push', '.circleci'),
  ...ask('Travis CI, for every push', '.travis.yml'),
  ...ask('Azure Pipelines, for every push', 'azure-pipelines.yml', '.azure-pipelines'),
  ...ask('Bitbucket, for every push', 'bitbucket-pipelines.yml'),
  ...ask('Jenkins, for every push', 'jenkinsfile'),
  ...ask('Buildkite, for every push', '.buildkite'),
  ...ask('Drone or Woodpecker, for every push', '.drone.yml', '.woodpecker.yml', '.woodpecker'),
  ...ask('AppVeyor, for every push', 'appveyor.yml', '.appveyor.yml'),
  ...ask('Cirrus CI, for every push', '.cirrus.yml', '.cirrus.star'),
  ...ask('Semaphore, for every push', '.semaphore'),
  ...ask('TeamCity, for every push', '.teamcity'),
  ...ask('SourceHut, for every push', '.build.yml', '.builds'),
  ...ask('Cloud Build or CodeBuild, for every push', 'cloudbuild.yaml', 'buildspec.yml'),
  ...ask('pre-commit, for every commit', '.pre-commit-config.yaml', '.pre-commit-config.yml'),
  ...ask('lefthook, for every commit', 'lefthook.yml', 'lefthook.yaml', '.lefthook.yml', '.lefthook.yaml'),
  ...ask('lefthook, for every commit', 'lefthook-local.yml', '.lefthook-local.yml', '.lefthook'),
  ...ask('npm and its like, for every command', '.npmrc', '.pnpmfile.cjs', '.pnpmfile.mjs', 'bunfig.toml'),
  ...ask('yarn, for every command', '.yarnrc', '.yarnrc.yml', '.yarn/plugins', '.yarn/releases', '.pnp.cjs'),
  ...ask('npm, when packages are installed', 'binding.gyp'),
  {
    path: 'package.json',
    grade: 'ask',
    obeyedBy: 'npm, when packages are installed, packed or published',
    parts: [
      ...['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'],
      ...['dependencies', 'prepublishOnly', 'prepack', 'postpack', 'publish', 'postpublish'],
      ...['preversion', 'version', 'postversion'],
    ]
      .map((name) => ['scripts', name])
      .concat([['husky'], ['gitHooks'], ['simple-git-hooks'], ['pre-commit'], ['lint-staged']]),
  },
  {
    path: 'composer.json',
    grade: 'ask',
    obeyedBy: 'Composer, when packages are installed',
    parts: [['scripts'], ['config', 'allow-plugins']],
  },
  ...ask('cargo, for every command', '.cargo/config.toml', '.cargo/config'),
  ...ask('Maven or Gradle, for every command', '.mvn', 'init.gradle'),
  ...ask('Bazel, for every command', '.bazelrc', 'tools/bazel'),
  ...ask('YouCompleteMe, when a file is opened', '.ycm_extra_conf.py'),
];

function never(obeyedBy: string, ...paths: readonly string[]): RiskyPath[] {
  return paths.map((path) => ({ path, grade: 'never', obeyedBy }));
}

function ask(obeyedBy: string, ...paths: readonly string[]): RiskyPath[] {
  return paths.map((path) => ({ path, grade: 'ask', obeyedBy }));
}

/** Windows treats both as the end of a name. */
const SEPARATOR = /[/\\]/;

/** The entry that covers a path, the stricter of two; null for an ordinary file. */
export function findRisk(path: string): RiskyPath | null {
  const names = path.split(SEPARATOR).map(foldName);
  return strictest(
    names.flatMap((name, at) =>
      (BY_FIRST_NAME.get(name) ?? []).filter(({ rest }) =>
        rest.every((part, index) => names[at + 1 + index] === part),
      ),
    ),
  );
}

/** The strictest entry in a folder of this name. A link with that name would bring it in under another one. */
export function findRiskBelow(path: string): RiskyPath | null {
  const names = path.split(SEPARATOR).map(foldName);
  const ends = names.map((_name, at) => `${names.slice(at).join('/')}/`);
  return strictest(SPLIT.filter(({ entry }) => ends.some((end) => entry.path.startsWith(end))));
}

/** The paths of one grade that are risky as a whole. */
export function listRiskyPaths(grade: RiskGrade): string[] {
  return RISKY_PATHS.filter((entry) => entry.grade === grade && entry.parts === undefined).flatMap((entry) =>
    entry.heldParts === undefined ? [entry.path] : entry.heldParts.map((part) => `${entry.path}/${part}`),
  );
}

interface SplitEntry {
  readonly entry: RiskyPath;
  readonly first: string;
  readonly rest: readonly string[];
}

const SPLIT: readonly SplitEntry[] = RISKY_PATHS.map((entry) => {
  const [first = '', ...rest] = entry.path.split('/');
  return { entry, first, rest };
});
const BY_FIRST_NAME = new Map<string, SplitEntry[]>();
for (const split of SPLIT) BY_FIRST_NAME.set(split.first, [...(BY_FIRST_NAME.get(split.first) ?? []), split]);

function strictest(found: readonly SplitEntry[]): RiskyPath | null {
  const entries = found.map(({ entry }) => entry);
  return entries.find(({ grade }) => grade === 'never') ?? entries[0] ?? null;
}

/** R3: the members that a change adds or alters. A file that is no JSON object any more may contain anything. */
export function findChangedParts(
  parts: NonNullable<RiskyPath['parts']>,
  before: string | null,
  after: string,
): string[] {
  const old = before === null ? {} : (parseObject(before) ?? {});
  const now = parseObject(after);
  if (now === null) return ['its text, which is no JSON'];
  return parts
    .filter((part) => {
      const value = memberOf(now, part);
      return value !== undefined && JSON.stringify(value) !== JSON.stringify(memberOf(old, part));
    })
    .map((part) => part.join('.'));
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function memberOf(value: unknown, part: readonly string[]): unknown {
  return part.reduce<unknown>(
    (inner, name) => (isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value,
  );
}
