/** Rooms in which a run can be tried, without a trace of it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createStamp, systemClock } from '@caisson/ground';
import { createBus } from '../bus/index.ts';
import { getCurrentFolder, readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import { createMemoryLedger, type Ledger } from '../ledger/index.ts';
import { createNames, openRegistry, type NameRegistry } from '../registry/index.ts';
import { createSecrets } from '../secrets/index.ts';
import { openLocalStore, type Store } from '../store/index.ts';
import { inspectStateFolder } from '../trust/index.ts';
import { createWorkspaces } from '../workspace/index.ts';
import { bundlePath } from './bundle-path.ts';
import { createDispatchSettings } from './dispatch-settings.ts';
import { openBudget } from './open-budget.ts';
import { findNoSandbox } from './probe-sandbox-here.ts';

/**
 * The rooms of a project in which nothing has run. Definitions are checked as they are stored, so they get a store. Money is
 * reserved as the ledger `recorded` has been spent from, and nothing is written into that.
 */
export function openRehearsal(config: ResolvedConfig, scratch: string, recorded?: Ledger) {
  const env = readHostEnvironment();
  const clock = systemClock;
  const { home } = config.folders;
  const settings = createDispatchSettings(config, env, getCurrentFolder());
  const ledger = createMemoryLedger();
  const store = openLocalStore(join(scratch, 'store'));
  const registry = openScratchRegistry(config, scratch, store);
  const nativeAgent = bundlePath('native-agent.mjs');
  return {
    clock,
    settings,
    ledger,
    store,
    names: createNames({ config, env, registry, node: settings.node, nativeAgent }),
    workspaces: createWorkspaces({ home, stamp: createStamp(randomBytes(32)) }),
    secrets: createSecrets({ env, home, base: config.projectRoot, clock }),
    budget: openBudget(config, recorded === undefined ? ledger : undoing(recorded), createBus(), clock),
    probeSandbox: findNoSandbox,
  };
}

type Spending = Parameters<typeof openBudget>[1];

/** Each transaction takes place, and is undone. */
function undoing(ledger: Ledger): Spending {
  return {
    spend: (filter) => ledger.spend(filter),
    run: (runId) => ledger.run(runId),
    kv: ledger.kv,
    alone<T>(work: () => T): T {
      const undo = new Error('a rehearsal changes nothing');
      let done: { readonly value: T } | undefined;
      try {
        ledger.alone(() => {
          done = { value: work() };
          throw undo;
        });
      } catch (error) {
        if (error !== undo || done === undefined) throw error;
      }
      return (done as { readonly value: T }).value;
    },
  };
}

/** What is registered is read; what is declared is stored in the scratch folder only. */
function openScratchRegistry(config: ResolvedConfig, scratch: string, store: Store): NameRegistry {
  const staging = openRegistry({ folder: join(scratch, 'registry'), store });
  if (inspectStateFolder(config).kind !== 'ours') return staging;
  const registered = openRegistry({
    folder: join(config.stateDir, 'registry'),
    store: openLocalStore(join(config.stateDir, 'store')),
  });
  return {
    stage: (kind, name, source) => staging.stage(kind, name, source),
    list: (kind) => registered.list(kind),
    loadAgent: (reference) => registered.loadAgent(reference),
    loadCapability: (reference) => registered.loadCapability(reference),
    loadEnvBundle: (reference) => registered.loadEnvBundle(reference),
    loadPipeline: (reference) => registered.loadPipeline(reference),
  };
}
