import { RUNTIME_DESCRIPTORS } from './runtime-descriptors.ts';
import { MODEL_APIS, type RuntimeDescriptor } from './runtimes.ts';
import { definedOnly } from './defined-only.ts';

/** A program that is known to speak ACP, and the runtime whose settings, key and log-in it shares. */
export interface AcpProgram {
  readonly program: string;
  /** The arguments that make it speak ACP. */
  readonly args: readonly string[];
}

/** By the program's file name. */
const KNOWN: ReadonlyMap<string, AcpProgram> = new Map(
  Object.values(RUNTIME_DESCRIPTORS).flatMap(({ name: program, acpPrograms = {} }) =>
    Object.entries(acpPrograms).map(([bin, args]) => [bin, { program, args }] as const),
  ),
);

/** Whether a runtime of this name and settings uses ACP. */
export const isAcpRuntime = (name: string, settings: Readonly<Record<string, unknown>>): boolean =>
  name === 'acp' || settings['protocol'] === 'acp';

/** The descriptor of a configured runtime; null for one that only the user knows. */
export function describeConfiguredRuntime(
  name: string,
  {
    bin = '',
    settings = {},
  }: { bin?: string | undefined; settings?: Readonly<Record<string, unknown>> | undefined },
): RuntimeDescriptor | null {
  if (isAcpRuntime(name, settings)) return describeAcpRuntime(name, bin, settings);
  return Object.hasOwn(RUNTIME_DESCRIPTORS, name) ? (RUNTIME_DESCRIPTORS[name] ?? null) : null;
}

/** What is known about the agent behind `bin`; `settings.program` names it if its file name does not. */
export function findAcpProgram(bin: string, settings: Readonly<Record<string, unknown>>): AcpProgram | null {
  const named = settings['program'];
  if (typeof named === 'string') {
    return [...KNOWN.values()].find(({ program }) => program === named) ?? null;
  }
  return KNOWN.get(bin.slice(bin.lastIndexOf('/') + 1)) ?? null;
}

/** The descriptor of one configured ACP agent: wire format, key and log-in come from the program it wraps. */
export function describeAcpRuntime(
  name: string,
  bin: string,
  settings: Readonly<Record<string, unknown>>,
): RuntimeDescriptor {
  const base = RUNTIME_DESCRIPTORS['acp'];
  if (base === undefined) throw new Error('the descriptor of "acp" is missing');
  const inner = RUNTIME_DESCRIPTORS[findAcpProgram(bin, settings)?.program ?? ''];
  const api = MODEL_APIS.find((known) => known === settings['api']) ?? inner?.api ?? base.api;
  return {
    ...base,
    name,
    title: name === 'acp' ? base.title : `${name} (ACP)`,
    api,
    ...definedOnly({
      keyEnv: inner?.keyEnv,
      otherKeyEnv: inner?.otherKeyEnv,
      defaultEndpoint: inner?.defaultEndpoint,
      login: inner?.login,
    }),
    loginFiles: inner?.loginFiles ?? [],
    sampling: inner?.sampling ?? base.sampling,
  };
}
