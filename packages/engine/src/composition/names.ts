/** What the names in a request stand for: registry, configuration and discovery behind one small door. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  BUILT_IN_RUNTIMES,
  parsePipelineSpec,
  RUNTIME_DESCRIPTORS,
  type RuntimeDescriptor,
} from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import { locateRuntimes, type LocatedRuntime } from '../discovery/index.ts';
import { TaskRefusedError, type FoundRuntime, type Names } from '../dispatch/index.ts';
import { canonicalJson } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import { bundlePath } from './dispatch-settings.ts';

export interface NamesOptions {
  readonly config: ResolvedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly node: string;
}

export function createNames(options: NamesOptions): Names {
  const { config, env } = options;
  const locate = (): LocatedRuntime[] =>
    locateRuntimes({
      env,
      home: config.folders.home,
      runtimes: config.runtimes,
      projectRoot: config.projectRoot,
    });

  return {
    agent: (name) => {
      const definition = config.agents[name];
      if (definition === undefined) return Promise.reject(unknown('agent', name, Object.keys(config.agents)));
      return Promise.resolve({ name, hash: hashOf(definition), definition });
    },
    async capability(name) {
      const folder = config.capabilities[name];
      if (folder === undefined) throw unknown('capability', name, Object.keys(config.capabilities));
      return { name, hash: (await options.store.putBundle(folder)).hash };
    },
    envBundle: (name) => {
      const bundle = config.envs[name];
      if (bundle === undefined) return Promise.reject(unknown('env bundle', name, Object.keys(config.envs)));
      return Promise.resolve({
        name,
        hash: hashOf(bundle),
        values: bundle.values ?? {},
        secrets: bundle.secrets ?? {},
      });
    },
    pipeline: (name) => {
      const declared = config.pipelines[name];
      if (declared === undefined)
        return Promise.reject(unknown('pipeline', name, Object.keys(config.pipelines)));
      const spec = parsePipelineSpec({ schemaVersion: 1, id: name, blocks: declared.blocks });
      return Promise.resolve({ id: name, hash: hashOf(spec), spec });
    },
    runtime: (name) => Promise.resolve(findRuntime(options, locate(), name)),
    usableRuntimes: () =>
      Promise.resolve(
        locate()
          .filter((found) => found.path !== null && found.name !== 'command')
          .map((found) => found.name),
      ),
    model: (_runtime, name) => name,
  };
}

function findRuntime(options: NamesOptions, located: readonly LocatedRuntime[], name: string): FoundRuntime {
  const { config, env } = options;
  const found = located.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw unknown('runtime', name, [...BUILT_IN_RUNTIMES, ...Object.keys(config.runtimes)]);
  const descriptor = found.descriptor ?? customDescriptor(name);
  const isProgram = descriptor.bins.length > 0 || found.config.bin !== undefined;
  if (isProgram && found.path === null) {
    throw new TaskRefusedError({
      check: 'runtime-found',
      kind: 'unavailable',
      detail: `${name} is not installed: ${found.config.bin ?? descriptor.bins.join(' or ')} was not found`,
      remedy:
        descriptor.npmPackage === undefined
          ? `Set runtimes.${name}.bin in caisson.yaml.`
          : `npm install -g ${descriptor.npmPackage}, or set runtimes.${name}.bin.`,
    });
  }
  const hasKeyInEnv = descriptor.keyEnv !== undefined && (env[descriptor.keyEnv] ?? '') !== '';
  const apiKeyRef = found.config.apiKey ?? (hasKeyInEnv ? `env:${descriptor.keyEnv ?? ''}` : null);
  return {
    name,
    descriptor,
    bin: found.path ?? (name === 'native' ? bundlePath('native-agent.mjs') : options.node),
    version: null,
    endpoint: found.config.endpoint ?? (apiKeyRef === null ? null : (descriptor.defaultEndpoint ?? null)),
    api: descriptor.api,
    apiKeyRef,
    model: found.config.model ?? null,
    settings: found.config.settings ?? {},
    env: found.config.env ?? {},
    adapter:
      found.config.adapter === undefined
        ? null
        : hashAdapter(resolve(config.projectRoot, found.config.adapter)),
    login: found.config.login === 'mount',
  };
}

function hashAdapter(path: string): { path: string; sha256: string } {
  return { path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') };
}

/** A runtime that only the user knows: every mode is the sandbox's to enforce. */
function customDescriptor(name: string): RuntimeDescriptor {
  const base = RUNTIME_DESCRIPTORS['command'];
  if (base === undefined) throw new Error('the descriptor of "command" is missing');
  return { ...base, name, title: name };
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function unknown(kind: string, name: string, known: readonly string[]): TaskRefusedError {
  const list = [...new Set(known)].toSorted().join(', ');
  return new TaskRefusedError({
    check: `${kind.replaceAll(' ', '-')}-known`,
    kind: 'usage',
    detail: `there is no ${kind} "${name}"`,
    remedy: list === '' ? `Declare it in caisson.yaml.` : `Known here: ${list}.`,
  });
}
