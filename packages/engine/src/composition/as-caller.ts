/**
 * The engine as a process sees it: with its folder, its PATH and its variables. Of a daemon's engine every caller has a
 * view of its own, in memory and for as long as its run is under way.
 */
import { existsSync } from 'node:fs';
import type { Clock } from '@caisson/ground';
import { BusTopic, type Caller } from '@caisson/protocol';
import type { DispatchRooms } from '../admission/index.ts';
import type { SafeEventBus } from '../bus/index.ts';
import { createLiveConfig, rememberLogin, type LiveConfig, type ResolvedConfig } from '../config/index.ts';
import { OtherProjectError } from '../daemon/index.ts';
import { createRequestHandler } from '../dispatch/index.ts';
import { dispatchOnce } from '../operations/dispatch-once.ts';
import { createNames, type Registry } from '../registry/index.ts';
import { createSecrets, type Secrets } from '../secrets/index.ts';
import { bundlePath } from './bundle-path.ts';
import { createDispatchSettings } from './dispatch-settings.ts';
import type { Engine } from './engine-contract.ts';
import { withTrust } from './trusted-config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The rooms of dispatch that depend on who asks. */
export function openCallerRooms(view: {
  readonly config: ResolvedConfig;
  readonly env: Environment;
  readonly cwd: string;
  readonly registry: Registry;
}): Pick<DispatchRooms, 'settings' | 'names' | 'rememberLogin'> {
  const { config, env, cwd, registry } = view;
  const settings = createDispatchSettings(config, env, cwd);
  const nativeAgent = bundlePath('native-agent.mjs');
  return {
    settings,
    names: createNames({ config, env, registry, node: settings.node, nativeAgent }),
    rememberLogin: (runtime) => rememberLogin(config.folders, runtime),
  };
}

export function openSecrets(view: {
  readonly config: ResolvedConfig;
  readonly env: Environment;
  readonly clock: Clock;
  readonly bus: SafeEventBus;
}): Secrets {
  const { config, env, clock, bus } = view;
  return createSecrets({
    env,
    home: config.folders.home,
    base: config.projectRoot,
    clock,
    onWarning: (message) => void bus.emit(BusTopic.WARNING, { source: 'secrets', message }),
  });
}

function refuseOther(here: string, served: string): OtherProjectError {
  return new OtherProjectError(here, served, existsSync(served));
}

/**
 * What the files of the configuration say now, for this caller, counts for its runs. Files that are not valid keep it from
 * starting work, and from nothing else.
 */
export async function seeAsCaller(
  engine: Engine,
  { cwd, env }: Caller,
): Promise<{ readonly engine: Engine; readonly live: LiveConfig }> {
  const live = await createLiveConfig(
    withTrust({ cwd, env, flags: { state: engine.config.stateDir }, startsNothing: true }),
    (change) => engine.bus.emit(BusTopic.CONFIG_CHANGED, { ...change }),
  );
  const config = live.current;
  if (config.projectRoot !== engine.config.projectRoot)
    throw refuseOther(config.projectRoot, engine.config.projectRoot);
  const secrets = openSecrets({ ...engine, config, env });
  const rooms: DispatchRooms = {
    ...engine.rooms,
    ...openCallerRooms({ config, env, cwd, registry: engine.registry }),
    secrets,
    requests: createRequestHandler({
      approvals: engine.approvals,
      rooms: engine,
      dispatch: (request) => dispatchOnce(view, request),
    }),
  };
  const dispatcher: Engine['dispatcher'] = {
    ...engine.dispatcher,
    dispatch: (request, attachment) => engine.dispatcher.dispatch(request, attachment, rooms),
  };
  const view: Engine = { ...engine, config, env, rooms, dispatcher };
  return { engine: view, live };
}
