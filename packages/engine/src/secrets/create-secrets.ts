import { systemClock } from '@caisson/ground';
import { createAwsSource } from './aws-source.ts';
import type { Secrets, SecretSource, SecretsOptions } from './contract.ts';
import { createEnvSource } from './env-source.ts';
import { SecretUnavailableError } from './errors.ts';
import { createExecSource } from './exec-source.ts';
import { createFileSource } from './file-source.ts';
import { DEFAULT_TTL_MS } from './limits.ts';

interface Kept {
  readonly value: string;
  readonly until: number;
}

export function createSecrets(options: SecretsOptions): Secrets {
  const clock = options.clock ?? systemClock;
  const ttlMs = options.ttlMs ?? DEFAULT_TTL_MS;
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<string>>();
  const sources: Readonly<Record<string, SecretSource>> = {
    env: createEnvSource(options),
    file: createFileSource(options),
    exec: createExecSource(options),
    'aws-sm': createAwsSource(options),
  };

  const dropOld = (): void => {
    const now = clock.monotonicMs();
    for (const [ref, { until }] of kept) if (until <= now) kept.delete(ref);
  };
  const fetchNow = async (ref: string, signal: AbortSignal): Promise<string> => {
    const { source, what } = locate(sources, ref);
    const value = tidy(await source.fetch(what, signal));
    if (source.isKept) kept.set(ref, { value, until: clock.monotonicMs() + ttlMs });
    return value;
  };
  /** Two runs that start together fetch once; a fetch that one of them may abort is not shared. */
  const fetchShared = (ref: string, signal: AbortSignal | undefined): Promise<string> => {
    if (signal !== undefined) return fetchNow(ref, signal);
    const running = underWay.get(ref);
    if (running !== undefined) return running;
    const started = fetchNow(ref, new AbortController().signal).finally(() => underWay.delete(ref));
    underWay.set(ref, started);
    return started;
  };

  return {
    check(ref) {
      try {
        const { source, what } = locate(sources, ref);
        const reason = source.check(what);
        return reason === null ? null : `the secret reference "${ref}" cannot be resolved: ${reason}`;
      } catch (error) {
        return (error as Error).message;
      }
    },
    async resolve(ref, { signal } = {}) {
      dropOld();
      const known = kept.get(ref);
      if (known !== undefined) return known.value;
      try {
        return await fetchShared(ref, signal);
      } catch (error) {
        if (error instanceof SecretUnavailableError) throw error;
        throw new SecretUnavailableError(`secret ${ref} could not be resolved: ${(error as Error).message}`, {
          cause: error,
        });
      }
    },
    forget: () => kept.clear(),
  };
}

function locate(
  sources: Readonly<Record<string, SecretSource>>,
  ref: string,
): { source: SecretSource; what: string } {
  const at = ref.indexOf(':');
  // A reference without a scheme may be the secret itself, written in the wrong place: it is not repeated (K1).
  if (at === -1)
    throw new SecretUnavailableError(
      'a secret reference must say where the secret is, for example env:NAME; this one does not',
    );
  const scheme = ref.slice(0, at);
  const source = Object.hasOwn(sources, scheme) ? sources[scheme] : undefined;
  if (source === undefined) {
    const known = Object.keys(sources).map((name) => `${name}:`);
    throw new SecretUnavailableError(
      `a secret is found by ${known.join(', ')} and what follows; this reference starts with none of them`,
    );
  }
  const what = ref.slice(at + 1);
  if (what === '') throw new SecretUnavailableError(`the secret reference "${scheme}:" names nothing`);
  return { source, what };
}

/** One trailing line end comes from the editor and is not part of the value. */
function tidy(value: string): string {
  const bare = value.replace(/\r?\n$/, '');
  if (bare === '') throw new Error('it is empty');
  if (bare.includes('\0')) throw new Error('it holds a NUL byte, which no environment can carry');
  return bare;
}
