import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  BUILT_IN_RUNTIMES,
  describeConfiguredRuntime,
  RUNTIME_DESCRIPTORS,
  type RuntimeDescriptor,
} from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import {
  askVersion,
  findInstalledVersion,
  findKeyRef,
  findLogin,
  findNativeProgram,
  findOtherAddress,
  type LocatedRuntime,
} from '../discovery/index.ts';
import { TaskRefusedError } from '../platform/index.ts';
import type { Registry } from './contract.ts';
import { recallVersion } from './known-version.ts';
import { modelApiOf } from './model-api.ts';
import type { FoundRuntime } from './names-contract.ts';
import { refuseOldVersion } from './refuse-old-version.ts';

export interface RuntimeNamesOptions {
  readonly config: ResolvedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly node: string;
  /** The program of the native agent. */
  readonly nativeAgent: string;
}

/** What names are resolved with. */
export type NameRegistry = Pick<
  Registry,
  'stage' | 'list' | 'loadAgent' | 'loadCapability' | 'loadEnvBundle' | 'loadPipeline'
>;

export interface NamesOptions extends RuntimeNamesOptions {
  readonly registry: NameRegistry;
}

/** A runtime by its name, with where its program is and how it is reached. */
export async function findRuntime(
  options: RuntimeNamesOptions,
  located: readonly LocatedRuntime[],
  name: string,
): Promise<FoundRuntime> {
  const { config, env } = options;
  const found = located.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw refuseUnknownName('runtime', name, [...BUILT_IN_RUNTIMES, ...Object.keys(config.runtimes)]);
  const descriptor = descriptorOf(name, found);
  const isProgram =
    descriptor.bins.length > 0 || found.config.bin !== undefined || descriptor.promptVia === 'acp';
  if (isProgram && found.path === null) {
    throw new TaskRefusedError({
      check: 'runtime-found',
      kind: 'unavailable',
      detail: `${name} is not installed: ${(found.config.bin ?? descriptor.bins.join(' or ')) || 'its program'} was not found`,
      remedy:
        descriptor.npmPackage === undefined
          ? `Set runtimes.${name}.bin in caisson.yaml.`
          : `npm install -g ${descriptor.npmPackage}, or set runtimes.${name}.bin.`,
    });
  }
  const version = found.path === null ? null : await findVersion(options, found.path, descriptor);
  refuseOldVersion(descriptor, version);
  const apiKeyRef = findKeyRef(descriptor, found.config, env);
  return {
    name,
    descriptor,
    bin: startedProgram(options, found.path, descriptor),
    version,
    endpoint: found.config.endpoint ?? (apiKeyRef === null ? null : (descriptor.defaultEndpoint ?? null)),
    otherAddress: findOtherAddress(descriptor, found.config, { env, apiKeyRef }),
    api: modelApiOf(descriptor, found.config.settings ?? {}),
    apiKeyRef,
    model: found.config.model ?? null,
    settings: found.config.settings ?? {},
    env: found.config.env ?? {},
    adapter:
      found.config.adapter === undefined
        ? null
        : hashAdapter(name, resolve(config.projectRoot, found.config.adapter)),
    login: found.config.login === 'mount',
    foundLogin: findLogin(config.folders.home, descriptor),
    projectServers: found.config.projectServers === true,
  };
}

/** What is really started; version and settings are those of the program that was found. */
function startedProgram(
  { nativeAgent, node }: RuntimeNamesOptions,
  path: string | null,
  descriptor: RuntimeDescriptor,
): string {
  if (path === null) return descriptor.name === 'native' ? nativeAgent : node;
  return findNativeProgram(path, descriptor) ?? path;
}

/** The program is asked where no npm package names it, and once for each file. */
async function findVersion(
  { config, env }: RuntimeNamesOptions,
  path: string,
  { bins, versionArgs, testedRange }: RuntimeDescriptor,
): Promise<string | null> {
  const installed = findInstalledVersion(path, bins);
  if (installed !== null || testedRange === undefined) return installed;
  const project = { projectRoot: config.projectRoot, home: config.folders.home };
  return await recallVersion({ path, args: versionArgs, userState: config.folders.state }, async () => {
    const { version } = await askVersion(path, versionArgs, { searchPath: env['PATH'], project });
    return version;
  });
}

function hashAdapter(name: string, path: string): { path: string; sha256: string } {
  try {
    return { path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') };
  } catch (error) {
    throw new TaskRefusedError({
      check: 'adapter-found',
      kind: 'unavailable',
      detail: `the adapter of ${name} cannot be read: ${(error as Error).message}`,
      remedy: `Set runtimes.${name}.adapter in caisson.yaml to the file; the path is relative to caisson.yaml.`,
    });
  }
}

function descriptorOf(name: string, { descriptor, config, path }: LocatedRuntime): RuntimeDescriptor {
  const settings = config.settings ?? {};
  const known = describeConfiguredRuntime(name, { bin: path ?? config.bin, settings });
  return known ?? descriptor ?? customDescriptor(name);
}

/** A runtime that only the user knows: the sandbox enforces every mode, the adapter gets every setting. */
function customDescriptor(name: string): RuntimeDescriptor {
  const base = RUNTIME_DESCRIPTORS['command'];
  if (base === undefined) throw new Error('the descriptor of "command" is missing');
  return { ...base, name, title: name, sampling: ['maxTokens', 'temperature'] };
}

/** The name is neither declared nor registered. */
export function refuseUnknownName(kind: string, name: string, known: readonly string[]): TaskRefusedError {
  const list = [...new Set(known)].toSorted().join(', ');
  return new TaskRefusedError({
    check: `${kind.replaceAll(' ', '-')}-known`,
    kind: 'usage',
    detail: `there is no ${kind} "${name}"`,
    remedy: list === '' ? `Declare it in caisson.yaml, or register it.` : `Known here: ${list}.`,
  });
}
