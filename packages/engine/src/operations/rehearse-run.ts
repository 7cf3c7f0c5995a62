/** Whether the first run of a project would be refused, found out before its state folder is made. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createStamp, systemClock } from '@caisson/ground';
import { rehearse, type DispatchRequest } from '../admission/index.ts';
import { createBus } from '../bus/index.ts';
import { bundlePath } from '../composition/bundle-path.ts';
import { createDispatchSettings } from '../composition/dispatch-settings.ts';
import { openBudget } from '../composition/open-budget.ts';
import { findNoSandbox } from '../composition/probe-sandbox-here.ts';
import { withScratchFolder } from '../composition/scratch-folder.ts';
import { loadConfig, requireTrust } from '../composition/trusted-config.ts';
import { getCurrentFolder, readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import { createMemoryLedger } from '../ledger/index.ts';
import { createNames, openRegistry } from '../registry/index.ts';
import { createSecrets } from '../secrets/index.ts';
import { openLocalStore } from '../store/index.ts';
import { inspectStateFolder } from '../trust/index.ts';
import { createWorkspaces } from '../workspace/index.ts';

/**
 * Throws what a run would be refused with, and leaves nothing behind. Does nothing where there is a state folder already:
 * admission decides there, and records its refusal.
 */
export async function rehearseRun(
  request: DispatchRequest,
  { stateDir }: { readonly stateDir?: string | undefined } = {},
): Promise<void> {
  const config = await loadConfig({ flags: { state: stateDir } });
  if (inspectStateFolder(config).kind !== 'absent') return;
  await requireTrust(config);
  await withScratchFolder((scratch) => rehearse(openRehearsal(config, scratch), request));
}

/** The rooms of a project in which nothing has happened. Definitions are checked as they are stored, so they get a store. */
function openRehearsal(config: ResolvedConfig, scratch: string) {
  const env = readHostEnvironment();
  const clock = systemClock;
  const { home } = config.folders;
  const settings = createDispatchSettings(config, env, getCurrentFolder());
  const ledger = createMemoryLedger();
  const store = openLocalStore(join(scratch, 'store'));
  const registry = openRegistry({ folder: join(scratch, 'registry'), store, clock });
  const nativeAgent = bundlePath('native-agent.mjs');
  return {
    clock,
    settings,
    ledger,
    store,
    names: createNames({ config, env, registry, node: settings.node, nativeAgent }),
    workspaces: createWorkspaces({ home, stamp: createStamp(randomBytes(32)) }),
    secrets: createSecrets({ env, home, base: config.projectRoot, clock }),
    budget: openBudget(config, ledger, createBus(), clock),
    probeSandbox: findNoSandbox,
  };
}
