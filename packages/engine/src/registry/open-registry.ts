import { systemClock, type Clock } from '@caisson/ground';
import { findNearest, type RegistryKind } from '@caisson/protocol';

import { StoreCorruptError, type Store } from '../store/index.ts';
import { canonicalText } from './canonical-text.ts';
import { putCapability } from './capability.ts';
import type {
  DiffLine,
  Registration,
  RegistrationSource,
  Registry,
  RegistryItem,
  RegistryVersion,
} from './contract.ts';
import { normaliseDefinition, parseAgent, parseEnvBundle, parsePipeline } from './definitions.ts';
import { diffBundles, diffDefinitions } from './diff-versions.ts';
import { CredentialFoundError, DefinitionInvalidError, UnknownNameError } from './errors.ts';
import { scanForCredentials } from './scan-credentials.ts';
import { VersionLog } from './version-log.ts';

export interface RegistryOptions {
  /** `<state folder>/registry`; made by the first registration. */
  readonly folder: string;
  readonly store: Store;
  readonly clock?: Pick<Clock, 'now'>;
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
const HASH = /^[0-9a-f]{64}$/;
const REFERENCE = /^([a-z0-9][a-z0-9._-]{0,127})(?:@([1-9][0-9]{0,8}))?$/;

/** Opens the registry of a state folder. Touches no disk. */
export function openRegistry(options: RegistryOptions): Registry {
  return new FolderRegistry(options);
}

class FolderRegistry implements Registry {
  readonly #log: VersionLog;
  readonly #store: Store;
  readonly #now: () => string;

  constructor(options: RegistryOptions) {
    this.#log = new VersionLog(options.folder);
    this.#store = options.store;
    this.#now = () => (options.clock ?? systemClock).now().toISOString();
  }

  async register(kind: RegistryKind, name: string, source: RegistrationSource): Promise<Registration> {
    refuseInvalidName(kind, name);
    const hash = await this.#put(kind, name, source);
    for (;;) {
      const before = (await this.#log.read(kind, name)).at(-1);
      if (before?.hash === hash) return { ...plain(before), changed: false, diff: [] };
      const added = await this.#log.append(kind, name, hash, this.#now());
      if (added === null) continue; // another process was faster; read again what the name means now
      return {
        ...added,
        changed: true,
        diff: before === undefined ? [] : await this.#diff(kind, before.hash, hash),
      };
    }
  }

  async stage(kind: RegistryKind, name: string, source: RegistrationSource): Promise<string> {
    refuseInvalidName(kind, name);
    return await this.#put(kind, name, source);
  }

  async list(kind: RegistryKind): Promise<readonly RegistryVersion[]> {
    const newest: RegistryVersion[] = [];
    for (const name of await this.#log.listNames(kind)) {
      const version = (await this.#log.read(kind, name)).at(-1);
      if (version !== undefined) newest.push(plain(version));
    }
    return newest;
  }

  async versions(kind: RegistryKind, name: string): Promise<readonly RegistryVersion[]> {
    const records = NAME.test(name) ? await this.#log.read(kind, name) : [];
    if (records.length === 0) throw await this.#unknown(kind, name);
    return records.map(plain);
  }

  async get(kind: RegistryKind, reference: string): Promise<RegistryItem> {
    const version = await this.#find(kind, reference);
    if (kind === 'capabilities')
      return { ...version, definition: await this.#store.readManifest(version.hash) };
    const stored = await this.#readStored(version);
    return {
      ...version,
      definition: kind === 'envs' ? hideValues(parseEnvBundle(version.name, stored)) : stored,
    };
  }

  async resolve(kind: RegistryKind, reference: string): Promise<string> {
    return (await this.#find(kind, reference)).hash;
  }

  async loadAgent(reference: string): ReturnType<Registry['loadAgent']> {
    const version = await this.#find('agents', reference);
    return { ...version, definition: parseAgent(version.name, await this.#readStored(version)) };
  }

  async loadEnvBundle(reference: string): ReturnType<Registry['loadEnvBundle']> {
    const version = await this.#find('envs', reference);
    return { ...version, bundle: parseEnvBundle(version.name, await this.#readStored(version)) };
  }

  async loadPipeline(reference: string): ReturnType<Registry['loadPipeline']> {
    const version = await this.#find('pipelines', reference);
    return { ...version, spec: parsePipeline(version.name, await this.#readStored(version)) };
  }

  loadCapability(reference: string): Promise<RegistryVersion> {
    return this.#find('capabilities', reference);
  }

  async listVersions(): Promise<readonly RegistryVersion[]> {
    const versions: RegistryVersion[] = [];
    for (const kind of ['agents', 'capabilities', 'envs', 'pipelines'] as const)
      for (const name of await this.#log.listNames(kind))
        versions.push(...(await this.#log.read(kind, name)));
    return versions;
  }

  async #put(kind: RegistryKind, name: string, source: RegistrationSource): Promise<string> {
    if (kind === 'capabilities') {
      if ('folder' in source) return (await putCapability(this.#store, name, source.folder)).hash;
      throw new DefinitionInvalidError(
        `capability ${name} was not registered: it is a folder, not a definition`,
      );
    }
    if (!('definition' in source))
      throw new DefinitionInvalidError(
        `${kind}/${name} was not registered: it is a definition, not a folder`,
      );
    const value = normaliseDefinition(kind, name, source.definition);
    const path = `${kind}/${name}`;
    const findings = scanForCredentials(Buffer.from(JSON.stringify(value, null, 2)), path);
    if (findings.length > 0) throw new CredentialFoundError(path, findings);
    return (await this.#store.putBlob(Buffer.from(canonicalText(value)))).digest;
  }

  async #find(kind: RegistryKind, reference: string): Promise<RegistryVersion> {
    if (HASH.test(reference)) return await this.#findHash(kind, reference);
    const [, name, number] = REFERENCE.exec(reference) ?? [];
    const records = name === undefined ? [] : await this.#log.read(kind, name);
    const record = number === undefined ? records.at(-1) : records[Number(number) - 1];
    if (record !== undefined) return plain(record);
    throw await this.#unknown(kind, reference);
  }

  async #findHash(kind: RegistryKind, hash: string): Promise<RegistryVersion> {
    for (const name of await this.#log.listNames(kind)) {
      const record = (await this.#log.read(kind, name)).findLast((found) => found.hash === hash);
      if (record !== undefined) return plain(record);
    }
    throw await this.#unknown(kind, hash);
  }

  async #unknown(kind: RegistryKind, reference: string): Promise<UnknownNameError> {
    const names = await this.#log.listNames(kind);
    const near = findNearest(reference.replace(/@.*/, ''), names);
    const known =
      names.length === 0 ? `No ${kind} are registered.` : `Registered: ${names.slice(0, 20).join(', ')}.`;
    return new UnknownNameError(`there is nothing registered as ${kind}/${reference}`, {
      remedy: near === null ? known : `Did you mean "${near}"? ${known}`,
    });
  }

  async #diff(kind: RegistryKind, before: string, after: string): Promise<readonly DiffLine[]> {
    if (kind === 'capabilities')
      return diffBundles(await this.#store.readManifest(before), await this.#store.readManifest(after));
    const [old, now] = await Promise.all(
      [before, after].map(async (hash) => parseStored(await this.#store.getBlob(hash), hash)),
    );
    return diffDefinitions(old, now, kind === 'envs');
  }

  async #readStored(version: RegistryVersion): Promise<unknown> {
    return parseStored(await this.#store.getBlob(version.hash), version.hash);
  }
}

function parseStored(bytes: Buffer, hash: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new StoreCorruptError(hash, 'the store', `registered definition is not JSON: ${String(cause)}`);
  }
}

function refuseInvalidName(kind: RegistryKind, name: string): void {
  if (NAME.test(name) && !HASH.test(name)) return;
  throw new DefinitionInvalidError(`${JSON.stringify(name)} cannot be a name in ${kind}`, {
    remedy: 'Use lowercase letters, digits, dots, dashes and underscores; begin with a letter or digit.',
  });
}

/** Names of the values only; a secret's reference says where it is and not what it is. */
function hideValues(bundle: { values: Record<string, string>; secrets: Record<string, string> }): unknown {
  return { values: Object.keys(bundle.values).toSorted(), secrets: bundle.secrets };
}

function plain({ kind, name, version, hash, at }: RegistryVersion): RegistryVersion {
  return { kind, name, version, hash, at };
}
