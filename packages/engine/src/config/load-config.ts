import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConfigFile, Mode } from '@caisson/protocol';
import { assembleGit, withGivenToken } from './assemble-git.ts';
import { assembleBudget, assembleLimits } from './assemble-limits.ts';
import { assembleResidents } from './assemble-residents.ts';
import { anchorRule } from './anchor-rule.ts';
import { refusePatterns } from './check-patterns.ts';
import { findResidentProblems, withoutResidents } from './check-residents.ts';
import { readConfigDocument, type ConfigDocument } from './config-document.ts';
import type { ExplainedConfig, LoadConfigOptions, ResolvedConfig, UserFolders } from './contract.ts';
import { ConfigError } from './errors.ts';
import { gatherSettings, type Layer, type Settings } from './gather-settings.ts';
import { readHostEnvironment } from './host-environment.ts';
import { readOrLeave } from './left-file.ts';
import { mergeFiles } from './merge-files.ts';
import { expandHome } from './named-paths.ts';
import { parseConfigDocument, valueAt } from './parse-config.ts';
import { CONFIG_FILE_NAME, findProject, isNamed, type FoundProject } from './project-root.ts';
import { listRows } from './config-rows.ts';
import { envNameOf, type SettingKey } from './settings.ts';
import { readUserConfig, type ParsedFile } from './user-config.ts';
import { resolveUserFolders } from './user-folders.ts';
import { weighFile } from './weigh-file.ts';

/** Resolves flag > env > project's file > user's file > default once. Problems throw `ConfigError`; no file is ever written. */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<ResolvedConfig> {
  return (await explainConfig(options)).config;
}

/** The same, with a row for every setting: its value and its source. */
export async function explainConfig(options: LoadConfigOptions = {}): Promise<ExplainedConfig> {
  const given = {
    cwd: options.cwd ?? getCurrentFolder(),
    env: options.env ?? readHostEnvironment(),
    flags: options.flags ?? {},
    ignoresFile: options.ignoresFile ?? false,
    usesProject: (options.usesProject ?? true) && options.ignoresFile !== true,
  };
  const folders = resolveUserFolders(given.env);
  const { root: projectRoot, refusal } = locateProject(given);
  // Without the project's files its root is known even where they must not be used.
  if (refusal !== null && given.usesProject) throw refusal;
  const unread: ConfigError[] = [];
  const onUnread =
    options.startsNothing === true ? (error: ConfigError): void => void unread.push(error) : undefined;
  const user = given.ignoresFile ? null : await readUserConfig(folders, onUnread);
  const written = !given.usesProject ? null : await readProjectFile(projectRoot, onUnread);
  const own = withGivenToken(user?.file ?? {}, given.env);
  const project = await weighFile(projectRoot, written?.file ?? {}, own, options.decideTrust);
  const layers: Layer[] = [
    ...(written === null ? [] : [{ source: 'file' as const, ...written, file: project.file }]),
    ...(user === null ? [] : [{ source: 'user' as const, ...user }]),
  ];
  const settings = await gatherSettings(given, layers);
  const config = assemble({
    projectRoot,
    file: mergeFiles(user?.file ?? {}, project.file),
    settings,
    folders,
    about: {
      file: written?.document.file ?? null,
      userFile: user?.document.file ?? null,
      trust: project.trust,
      asked: project.asked,
      ...(unread.length === 0 ? {} : { unread }),
    },
  });
  refuseOtherState(config, { file: written, user });
  const withheld = project.trust.kind === 'required' ? project.asked.asks : [];
  const rows = listRows(settings, layers, { asks: withheld, document: written?.document ?? null });
  return { config, rows };
}

async function readProjectFile(
  projectRoot: string,
  onUnread?: (error: ConfigError) => void,
): Promise<ParsedFile | null> {
  const path = join(projectRoot, CONFIG_FILE_NAME);
  if (!isNamed(path)) return null;
  return await readOrLeave(path, () => readWritten(path, projectRoot, onUnread), onUnread);
}

async function readWritten(
  path: string,
  projectRoot: string,
  onUnread?: (error: ConfigError) => void,
): Promise<ParsedFile> {
  const document = await readConfigDocument(path);
  const file = await parseConfigDocument(document, onUnread);
  refuseLogin(document, file);
  refuseApi(document, file);
  refusePatterns(document, file);
  const problems = await findResidentProblems(document, file, projectRoot);
  if (problems === null) return { document, file };
  if (onUnread === undefined) throw problems;
  onUnread(problems);
  return { document, file: withoutResidents(file) };
}

/** A file that names its state folder and is not understood completely: another folder must not be read in its place. */
function refuseOtherState(config: ResolvedConfig, files: Record<'file' | 'user', ParsedFile | null>): void {
  const [error] = config.unread ?? [];
  const sources = (['file', 'user'] as const).filter(
    (source) => valueAt(files[source]?.document.value, ['state']) !== undefined,
  );
  const isUsed = ['flag', 'env', sources[0]].includes(config.sourceOf('state'));
  if (error === undefined || sources.length === 0 || isUsed) return;
  throw new ConfigError(error.problems, {
    cause: error,
    remedy:
      'Correct it. Until then the state folder is not known; --state-dir names it, also to read and to stop.',
  });
}

/** The log-in is the user's own: no project, trusted or not, decides that a run gets it. */
function refuseLogin(document: ConfigDocument, { runtimes = {} }: ConfigFile): void {
  const name = Object.keys(runtimes).find((key) => runtimes[key]?.login !== undefined);
  if (name === undefined) return;
  const message = `runtimes.${name}.login cannot be set by a project.`;
  throw new ConfigError([{ file: document.file, ...document.locate(['runtimes', name], 'login'), message }], {
    remedy: 'Remove it. To use your log-in, run once with --login, or set it in your own config.yaml.',
  });
}

/** A port is opened for everything that is served there: no project, trusted or not, opens one. */
function refuseApi(document: ConfigDocument, { api }: ConfigFile): void {
  if (api === undefined) return;
  const message = 'api cannot be set by a project.';
  throw new ConfigError([{ file: document.file, ...document.locate([], 'api'), message }], {
    remedy: 'Set it in your own config.yaml, or use caisson ui --listen.',
  });
}

/** The project that the options select, and why its files must not be used, if so. */
export function locateProject(options: Pick<LoadConfigOptions, 'cwd' | 'env' | 'flags'>): FoundProject {
  const env = options.env ?? readHostEnvironment();
  const isStateElsewhere = [options.flags?.state, env[envNameOf('state')]].some(
    (value) => value !== undefined && value !== '',
  );
  const { state } = resolveUserFolders(env);
  return findProject(options.cwd ?? getCurrentFolder(), { userState: state, isStateElsewhere });
}

interface Assembly {
  readonly projectRoot: string;
  readonly file: ConfigFile;
  readonly settings: Settings;
  readonly folders: UserFolders;
  readonly about: Pick<ResolvedConfig, 'file' | 'userFile' | 'trust' | 'asked' | 'unread'>;
}

function assemble({ projectRoot, file, settings, folders, about }: Assembly): ResolvedConfig {
  const get = <T>(key: SettingKey): T => settings.get(key)?.value as T;
  const toAbsolute = (path: string): string => resolve(projectRoot, expandHome(path, folders.home));
  return Object.freeze({
    projectRoot,
    ...about,
    stateDir: toAbsolute(get<string>('state')),
    folders,
    runtime: get<string | null>('runtime'),
    mode: get<Mode>('mode'),
    runtimes: file.runtimes ?? {},
    agents: file.agents ?? {},
    envs: file.envs ?? {},
    pipelines: file.pipelines ?? {},
    capabilities: Object.fromEntries(
      Object.entries(file.capabilities ?? {}).map(([name, path]) => [name, toAbsolute(path)]),
    ),
    workspace: {
      include: file.workspace?.include ?? [],
      bring: file.workspace?.bring ?? [],
      detect: get<boolean>('workspace.detect'),
      setup: get<string | null>('workspace.setup'),
      setupTimeoutMs: get<number>('workspace.setupTimeout'),
    },
    limits: assembleLimits(get),
    budget: assembleBudget(get),
    git: assembleGit(get, toAbsolute),
    network: { hosts: file.network?.hosts ?? [], services: file.network?.services ?? {} },
    policy: {
      ceiling: get<Mode>('policy.ceiling'),
      rules: (file.policy?.rules ?? []).flatMap((rule) => anchorRule(rule, projectRoot, folders.home)),
    },
    callbacks: file.callbacks ?? [],
    questions: {
      deadlineMs: get<number>('questions.deadline'),
      approvalDeadlineMs: get<number>('questions.approvalDeadline'),
    },
    store: file.store ?? {},
    sandbox: {
      toolchains: (file.sandbox?.toolchains ?? []).map(toAbsolute),
      homeBytes: get<number>('sandbox.home'),
      tmpBytes: get<number>('sandbox.tmp'),
    },
    keys: {
      agentSocket: resolveSigner(get<string | null>('keys.signer'), toAbsolute),
      identity: get<string | null>('keys.identity'),
    },
    evidence: { witness: resolveWitness(get<string | null>('evidence.witness'), toAbsolute) },
    telemetry: file.telemetry ?? null,
    api: file.api ?? {},
    ...assembleResidents(file, get<Mode>('mode'), toAbsolute),
    sourceOf: (key: SettingKey) => settings.get(key)?.source ?? 'default',
  });
}

/** The current folder of a shell may be gone, or its name may be no text: then we would work elsewhere. */
export function getCurrentFolder(): string {
  try {
    const named = process.cwd();
    const [here, there] = [statSync('.'), statSync(named, { throwIfNoEntry: false })];
    if (here.ino === there?.ino && here.dev === there.dev) return named;
    throw new ConfigError([{ file: named, message: 'the name of the current folder is not UTF-8.' }], {
      remedy: 'Rename it.',
    });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    const [message, remedy] =
      code === 'ENOENT'
        ? ['the current folder does not exist any more.', 'Change to a folder that exists.']
        : [`the current folder cannot be reached by its name (${code}).`, 'Check the folders above it.'];
    throw new ConfigError([{ file: '.', message }], { cause: error, remedy });
  }
}

function resolveSigner(signer: string | null, toAbsolute: (path: string) => string): string | null {
  return signer === null ? null : toAbsolute(signer.slice('ssh-agent:'.length));
}

function resolveWitness(witness: string | null, toAbsolute: (path: string) => string): string | null {
  return witness === null || /^https?:\/\//.test(witness) ? witness : toAbsolute(witness);
}
