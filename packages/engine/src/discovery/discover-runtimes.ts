import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  definedOnly,
  describeConfiguredRuntime,
  RUNTIME_DESCRIPTORS,
  type RuntimeConfig,
  type RuntimeDescriptor,
} from '@caisson/protocol';
import type { Credential, DiscoveredRuntime, ProbeContext } from './contract.ts';
import { chooseCredential, findKeyRef, findLogin, findOtherAddress } from './find-credential.ts';
import { findProgram } from './find-program.ts';
import { findInstalledVersion } from './installed-version.ts';
import { askVersion, compareVersions, type VersionAnswer } from './program-version.ts';
import { findRepositoryFolders, isFileOf, type ProjectPlace } from './repository-programs.ts';

/** Enough to choose a runtime; no program is started. */
export interface LocatedRuntime {
  readonly name: string;
  readonly descriptor: RuntimeDescriptor | null;
  readonly config: RuntimeConfig;
  readonly path: string | null;
}

export type DiscoveryContext = Pick<ProbeContext, 'env' | 'home' | 'runtimes' | 'signal'> & {
  readonly projectRoot?: string;
};

/** Every runtime that is built in, installed or configured, and where its program is. */
export function locateRuntimes(context: DiscoveryContext): LocatedRuntime[] {
  const names = new Set([...Object.keys(RUNTIME_DESCRIPTORS), ...Object.keys(context.runtimes)]);
  return [...names].map((name) => {
    const descriptor = RUNTIME_DESCRIPTORS[name] ?? null;
    const config = context.runtimes[name] ?? {};
    return { name, descriptor, config, path: locateProgram(context, descriptor, config) };
  });
}

type PlacedContext = DiscoveryContext & ProjectPlace;

/** Every runtime with its version and log-in state. Starts each program once, for its version, but none of the repository. */
export async function discoverRuntimes(context: PlacedContext): Promise<DiscoveredRuntime[]> {
  return await Promise.all(locateRuntimes(context).map((located) => describeRuntime(context, located)));
}

/** The payload of the runtimes-discovered topic: only what was found. */
export function toDiscoveredPayload(runtimes: readonly DiscoveredRuntime[]): {
  runtimes: { name: string; version: string | null; path: string }[];
} {
  return {
    runtimes: runtimes.flatMap(({ name, version, path }) => (path === null ? [] : [{ name, version, path }])),
  };
}

async function describeRuntime(context: PlacedContext, located: LocatedRuntime): Promise<DiscoveredRuntime> {
  const { name, descriptor, config, path } = located;
  const isProgram = descriptor !== null && descriptor.bins.length > 0;
  const answer =
    path === null
      ? { version: null, problem: missingProgram(located) ?? missingAdapter(context, config) }
      : await findVersion(context, path, descriptor);
  const credential = describeCredential(context, located);
  return {
    name,
    title: descriptor?.title ?? name,
    kind: descriptor === null ? 'custom' : isProgram ? 'program' : 'built-in',
    path,
    ...definedOnly({ adapter: config.adapter }),
    version: answer.version,
    testedRange: descriptor?.testedRange ?? null,
    fit: compareWithTested(answer.version, descriptor?.testedRange),
    login: credential.kind,
    uses: credential.uses,
    reports: { usage: descriptor?.reportsUsage ?? false, cost: descriptor?.reportsCost ?? false },
    problem: answer.problem,
  };
}

async function findVersion(
  context: PlacedContext,
  path: string,
  descriptor: RuntimeDescriptor | null,
): Promise<VersionAnswer> {
  const installed = isFileOf(findRepositoryFolders(context), path)
    ? findInstalledVersion(path, descriptor?.bins ?? [])
    : null;
  if (installed !== null) return { version: installed, problem: null };
  return await askVersion(path, descriptor?.versionArgs ?? ['--version'], {
    searchPath: context.env['PATH'],
    project: context,
    signal: context.signal,
  });
}

function describeCredential({ env, home }: DiscoveryContext, located: LocatedRuntime): Credential {
  const { config } = located;
  const descriptor = known(located);
  if (descriptor === null) return { kind: 'not-needed', uses: '-' };
  const apiKeyRef = findKeyRef(descriptor, config, env);
  return chooseCredential({
    descriptor,
    api: descriptor.api,
    login: config.login === 'mount',
    foundLogin: findLogin(home, descriptor),
    apiKeyRef,
    endpoint: config.endpoint ?? null,
    otherAddress: findOtherAddress(descriptor, config, { env, apiKeyRef }),
    adapter: config.adapter ?? null,
    given: Object.keys(config.env ?? {}),
    checkRef: (ref) =>
      ref.startsWith('env:') && (env[ref.slice('env:'.length)] ?? '') === '' ? 'it is not set' : null,
  });
}

/** An ACP agent identifies itself as the program behind it does. */
function known({ name, descriptor, config, path }: LocatedRuntime): RuntimeDescriptor | null {
  const { settings } = config;
  return describeConfiguredRuntime(name, { bin: path ?? config.bin, settings }) ?? descriptor;
}

function locateProgram(
  context: DiscoveryContext,
  descriptor: RuntimeDescriptor | null,
  config: RuntimeConfig,
): string | null {
  const names = config.bin === undefined ? (descriptor?.bins ?? []) : [config.bin];
  for (const name of names) {
    const path = findProgram(name, context.env['PATH'], context.projectRoot ?? '/');
    if (path !== null) return path;
  }
  return null;
}

function missingProgram({ descriptor, config }: LocatedRuntime): string | null {
  if (config.bin !== undefined) return `${config.bin} was not found`;
  if (descriptor === null || descriptor.bins.length === 0) return null;
  const install = descriptor.npmPackage === undefined ? '' : `; npm install -g ${descriptor.npmPackage}`;
  return `${descriptor.bins.join(' or ')} is not in PATH${install}`;
}

function missingAdapter({ projectRoot }: DiscoveryContext, { adapter }: RuntimeConfig): string | null {
  if (adapter === undefined || existsSync(resolve(projectRoot ?? '/', adapter))) return null;
  return `the adapter ${adapter} was not found`;
}

function compareWithTested(
  version: string | null,
  range: RuntimeDescriptor['testedRange'],
): DiscoveredRuntime['fit'] {
  if (version === null || range === undefined) return 'unknown';
  if (compareVersions(version, range.from) < 0) return 'older';
  return compareVersions(version, range.to) > 0 ? 'newer' : 'tested';
}
