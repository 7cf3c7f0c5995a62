/** Resolves the names in a request: registry, configuration and discovery behind one small interface. */
import { definedOnly, encodeAgentDefinition, parsePipelineSpec, type RegistryKind } from '@caisson/protocol';
import { locateRuntimes, type LocatedRuntime } from '../discovery/index.ts';
import { TaskRefusedError } from '../platform/index.ts';
import { BundleRefusedError } from '../store/index.ts';
import type { RegistrationSource } from './contract.ts';
import {
  CredentialFoundError,
  DefinitionInvalidError,
  ModelLevelError,
  PromptTemplateError,
  UnknownNameError,
} from './errors.ts';
import {
  findRuntime,
  refuseUnknownName,
  type NamesOptions,
  type RuntimeNamesOptions,
} from './find-runtime.ts';
import type { Names, RuntimeNames } from './names-contract.ts';
import { resolveModel } from './resolve-model.ts';

/** A name means what `caisson.yaml` declares, else what is registered; both are validated and stored the same way. */
export function createNames(options: NamesOptions): Names {
  const { config, registry } = options;
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
    ...createRuntimeNames(options),
  };
}

/** The names that need no registry, and so no state folder. */
export function createRuntimeNames(options: RuntimeNamesOptions): RuntimeNames {
  return {
    runtime: async (name) => findRuntime(options, locate(options), name),
    usableRuntimes: () =>
      Promise.resolve(
        locate(options)
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

function locate({ config, env }: RuntimeNamesOptions): LocatedRuntime[] {
  const { runtimes, projectRoot, folders } = config;
  return locateRuntimes({ env, home: folders.home, runtimes, projectRoot });
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
    ...definedOnly({ remedy: error.remedy }),
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
  throw refuseUnknownName((SINGULAR[kind] ?? kind).replace('-', ' '), name, [
    ...Object.keys(config[kind]),
    ...registered,
  ]);
}
