/** The names that a shell completes with. A shell expands what it is given, so only plain words are named. */
import { listPricedModels, loadConfig, type Caisson } from '@caisson/engine';
import { BUILT_IN_RUNTIMES } from '@caisson/protocol';
import type { NamesKind } from './command.ts';
import type { Output } from './output.ts';
import { withCaissonToRead } from './with-caisson.ts';

const PLAIN = /^[\w.@:/+-]+$/;
const MAX_RUNS = 30;

export async function listNames(
  kind: NamesKind,
  stateDir: string | undefined,
  output: Output,
): Promise<string[]> {
  const names =
    kind === 'models'
      ? listPricedModels()
      : kind === 'runtimes'
        ? [...BUILT_IN_RUNTIMES, ...(await listConfigured())]
        : await withCaissonToRead(stateDir, output, (caisson) => LISTED[kind](caisson));
  return names.filter((name) => PLAIN.test(name));
}

/** A configuration that cannot be used offers nothing; the command that is completed will report it. */
async function listConfigured(): Promise<string[]> {
  const { runtimes } = await loadConfig().catch(() => ({ runtimes: {} }));
  return Object.keys(runtimes).filter((name) => !BUILT_IN_RUNTIMES.some((known) => known === name));
}

type Listed = Exclude<NamesKind, 'models' | 'runtimes'>;

const LISTED: Readonly<Record<Listed, (caisson: Caisson) => Promise<string[]>>> = {
  runs: async (caisson) =>
    (await caisson.runs({ newestFirst: true, limit: MAX_RUNS })).map(({ runId }) => runId),
  agents: async (caisson) => (await caisson.registry.list('agents')).map(({ name }) => name),
  senses: async ({ residents }) => (await residents.senses()).map(({ name }) => name),
  workflows: async ({ residents }) => (await residents.workflows()).map(({ name }) => name),
  threads: async ({ residents }) =>
    (await residents.threads({ newestFirst: true, limit: MAX_RUNS })).map(({ threadId }) => threadId),
  residents: async ({ residents }) => (await residents.list()).map(({ key }) => key),
};
