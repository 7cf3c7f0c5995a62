/** Resolves the names in a request: registry, configuration and discovery behind one small interface. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  BUILT_IN_RUNTIMES,
  describeConfiguredRuntime,
  encodeAgentDefinition,
  parsePipelineSpec,
  RUNTIME_DESCRIPTORS,
  type RegistryKind,
  type RuntimeDescriptor,
} from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import { findInstalledVersion, locateRuntimes, type LocatedRuntime } from '../discovery/index.ts';
import { TaskRefusedError, type FoundRuntime, type Names } from '../dispatch/index.ts';
import {
  CredentialFoundError,
  DefinitionInvalidError,
  ModelLevelError,
  PromptTemplateError,
  resolveModel,
  UnknownNameError,
  type RegistrationSource,
  type Registry,
} from '../registry/index.ts';
import { BundleRefusedError } from '../store/index.ts';
import { bundlePath } from './bundle-path.ts';
import { modelApiOf } from './model-api.ts';
import { refuseOldVersion } from './refuse-old-version.ts';

export interface NamesOptions {
  readonly config: ResolvedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly registry: Registry;
  readonly node: string;
}

/** A name means what `caisson.yaml` declares, else what is registered; both are validated and stored the same way. */
export function createNames(options: NamesOptions): Names {
  const { config, env, registry } = options;
  const locate = (): LocatedRuntime[] =>
    locateRuntimes({
      env,
      home: config.folders.home,
      runtimes: config.runtimes,
      projectRoot: config.projectRoot,
    });
  const stage = (kind: RegistryKind, name: string, source: RegistrationSource): Promise<string> =>
    registry.stage(kind, name, source).catch((error: unknown) => refuseInvalid(kind, error));
  const load = <T>(kind: RegistryKind, name: string, loading: Promise<T>): Promise<T> =>
    loading.catch((error: unknown) => refuseUnknown(options, kind, name, error));

  return {
    async agent(name) {
      const definition = own(config.agents, name);
      if (definition === undefined) {
        const found = await load('agents', name, registry.loadAgent(name));
        return { name: found.name, hash: found.hash, definition: found.definition };
      }
      const hash = await stage('agents', name, { definition: encodeAgentDefinition(definition) });
      return { name, hash, definition };
    },
    async capability(name) {
      const folder = own(config.capabilities, name);
      if (folder !== undefined) return { name, hash: await stage('capabilities', name, { folder }) };
      const found = await load('capabilities', name, registry.loadCapability(name));
      return { name: found.name, hash: found.hash };
    },
    async envBundle(name) {
      const declared = own(config.envs, name);
      if (declared === undefined) {
        const found = await load('envs', name, registry.loadEnvBundle(name));
        return { name: found.name, hash: found.hash, ...found.bundle };
      }
      const bundle = { values: declared.values ?? {}, secrets: declared.secrets ?? {} };
      return { name, hash: await stage('envs', name, { definition: bundle }), ...bundle };
    },
    async pipeline(name) {
      const declared = own(config.pipelines, name);
      if (declared === undefined) {
        const found = await load('pipelines', name, registry.loadPipeline(name));
        return { id: found.spec.id, hash: found.hash, spec: found.spec };
      }
      const hash = await stage('pipelines', name, { definition: declared });
      return {
        id: name,
        hash,
        spec: parsePipelineSpec({ schemaVersion: 1, id: name, blocks: declared.blocks }),
      };
    },
    runtime: (name) => Promise.resolve(findRuntime(options, locate(), name)),
    usableRuntimes: () =>
      Promise.resolve(
        locate()
          .filter((found) => found.path !== null && found.name !== 'command')
          .map((found) => found.name),
      ),
    model: (runtime, name) => {
      try {
        return resolveModel(runtime, name);
      } catch (error) {
        return refuseInvalid('model', error);
      }
    },
  };
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** A user's mistake is a refusal; an unreadable registry or store stays an error. */
function refuseInvalid(kind: string, error: unknown): never {
  const isTheirs =
    error instanceof DefinitionInvalidError ||
    error instanceof CredentialFoundError ||
    error instanceof PromptTemplateError ||
    error instanceof ModelLevelError ||
    error instanceof BundleRefusedError;
  if (!isTheirs) throw error;
  throw new TaskRefusedError({
    check: `${SINGULAR[kind] ?? kind}-valid`,
    kind: 'usage',
    detail: error.message,
    ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
  });
}

const SINGULAR: Readonly<Record<string, string>> = {
  agents: 'agent',
  capabilities: 'capability',
  envs: 'env-bundle',
  pipelines: 'pipeline',
};

async function refuseUnknown(
  { config, registry }: NamesOptions,
  kind: RegistryKind,
  name: string,
  error: unknown,
): Promise<never> {
  if (!(error instanceof UnknownNameError)) throw error;
  const registered = (await registry.list(kind)).map((version) => version.name);
  throw unknown((SINGULAR[kind] ?? kind).replace('-', ' '), name, [
    ...Object.keys(config[kind]),
    ...registered,
  ]);
}

function findRuntime(options: NamesOptions, located: readonly LocatedRuntime[], name: string): FoundRuntime {
  const { config, env } = options;
  const found = located.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw unknown('runtime', name, [...BUILT_IN_RUNTIMES, ...Object.keys(config.runtimes)]);
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
  const version = found.path === null ? null : findInstalledVersion(found.path, descriptor.bins);
  refuseOldVersion(descriptor, version);
  const hasKeyInEnv = descriptor.keyEnv !== undefined && (env[descriptor.keyEnv] ?? '') !== '';
  const apiKeyRef = found.config.apiKey ?? (hasKeyInEnv ? `env:${descriptor.keyEnv ?? ''}` : null);
  return {
    name,
    descriptor,
    bin: found.path ?? (name === 'native' ? bundlePath('native-agent.mjs') : options.node),
    version,
    endpoint: found.config.endpoint ?? (apiKeyRef === null ? null : (descriptor.defaultEndpoint ?? null)),
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
    projectServers: found.config.projectServers === true,
  };
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

function unknown(kind: string, name: string, known: readonly string[]): TaskRefusedError {
  const list = [...new Set(known)].toSorted().join(', ');
  return new TaskRefusedError({
    check: `${kind.replaceAll(' ', '-')}-known`,
    kind: 'usage',
    detail: `there is no ${kind} "${name}"`,
    remedy: list === '' ? `Declare it in caisson.yaml, or register it.` : `Known here: ${list}.`,
  });
}
