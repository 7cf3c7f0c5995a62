/** The registry for a person: what is registered, and what `caisson.yaml` declares beside it. */
import { resolve } from 'node:path';
import { encodeAgentDefinition, EnvBundle, type RegistryKind } from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import type { Engine } from '../engine.ts';
import {
  readDefinition,
  registerFolder,
  SecretsNotAllowedError,
  UnknownNameError,
  type Registration,
  type RegistryItem,
  type RegistryVersion,
} from '../registry/index.ts';

/** A name that can be used now. `version` is null for one that `caisson.yaml` declares; that one comes first. */
export type ListedName = Omit<RegistryVersion, 'version' | 'at'> & {
  readonly version: number | null;
  readonly at: string | null;
  readonly source: 'caisson.yaml' | 'registry';
};

export type ShownName = Omit<RegistryItem, 'version' | 'at'> &
  Pick<ListedName, 'version' | 'at' | 'source'> & {
    /** Every version that is registered, oldest first. */
    readonly versions: readonly RegistryVersion[];
  };

export interface RegisterOptions {
  /** Whether env bundles may name secrets; the files may come from other people. Default false. */
  readonly allowsSecrets?: boolean | undefined;
}

export interface RegistryApi {
  /** Registers the folder (of a capability) or the YAML or JSON file at `path`. Idempotent. */
  register(kind: RegistryKind, name: string, path: string, options?: RegisterOptions): Promise<Registration>;
  /** Registers everything that a folder declares; see docs/guides/registry.md for its form. */
  registerFolder(folder: string, options?: RegisterOptions): Promise<readonly Registration[]>;
  list(kind: RegistryKind): Promise<readonly ListedName[]>;
  /** By name, `name@3` or hash. Values of an env bundle are never in it. */
  get(kind: RegistryKind, reference: string): Promise<ShownName>;
}

/** A registered file may come from other people, and an agent that names the bundle would use it. */
function refuseSecrets(kind: RegistryKind, name: string, definition: unknown): void {
  const bundle = kind === 'envs' ? EnvBundle.safeParse(definition).data : undefined;
  if (bundle === undefined || Object.keys(bundle.secrets).length === 0) return;
  throw new SecretsNotAllowedError(name, bundle.secrets);
}

export function createRegistryApi(
  { registry, store, config }: Pick<Engine, 'registry' | 'store' | 'config'>,
  cwd: string,
): RegistryApi {
  return {
    async register(kind, name, path, how = {}) {
      const full = resolve(cwd, path);
      if (kind === 'capabilities') return registry.register(kind, name, { folder: full });
      const definition = await readDefinition(full);
      if (how.allowsSecrets !== true) refuseSecrets(kind, name, definition);
      return registry.register(kind, name, { definition });
    },
    registerFolder: (folder, how = {}) =>
      registerFolder(registry, resolve(cwd, folder), how.allowsSecrets === true ? undefined : refuseSecrets),
    async list(kind) {
      const declared = Object.keys(config[kind]).toSorted();
      const registered = (await registry.list(kind)).filter((version) => !declared.includes(version.name));
      return [
        ...(await Promise.all(declared.map((name) => describeDeclared(registry, config, kind, name)))),
        ...registered.map((version) => ({ ...version, source: 'registry' as const })),
      ];
    },
    async get(kind, reference) {
      const isDeclared = Object.hasOwn(config[kind], reference);
      if (!isDeclared) {
        const item = await registry.get(kind, reference);
        return { ...item, source: 'registry', versions: await registry.versions(kind, item.name) };
      }
      return {
        ...(await describeDeclared(registry, config, kind, reference)),
        definition: await showDeclared({ registry, store, config }, kind, reference),
        versions: await registry.versions(kind, reference).catch(noneIfUnknown),
      };
    },
  };
}

async function describeDeclared(
  registry: Engine['registry'],
  config: ResolvedConfig,
  kind: RegistryKind,
  name: string,
): Promise<ListedName> {
  const hash = await registry.stage(kind, name, declaredSource(config, kind, name));
  return { kind, name, version: null, hash, at: null, source: 'caisson.yaml' };
}

function declaredSource(
  config: ResolvedConfig,
  kind: RegistryKind,
  name: string,
): { folder: string } | { definition: unknown } {
  if (kind === 'capabilities') return { folder: config.capabilities[name] ?? '' };
  if (kind === 'agents') return { definition: encodeAgentDefinition(config.agents[name] ?? {}) };
  return { definition: config[kind][name] };
}

async function showDeclared(
  { registry, store, config }: Pick<Engine, 'registry' | 'store' | 'config'>,
  kind: RegistryKind,
  name: string,
): Promise<unknown> {
  if (kind === 'capabilities')
    return store.readManifest(await registry.stage(kind, name, declaredSource(config, kind, name)));
  if (kind !== 'envs') return (declaredSource(config, kind, name) as { definition: unknown }).definition;
  const { values = {}, secrets = {} } = config.envs[name] ?? {};
  return { values: Object.keys(values).toSorted(), secrets };
}

function noneIfUnknown(error: unknown): readonly RegistryVersion[] {
  if (error instanceof UnknownNameError) return [];
  throw error;
}
