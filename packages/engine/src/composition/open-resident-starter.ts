/** The starter of residents, with what attempts are started with. */
import { toolBinds, type DispatchRooms } from '../admission/index.ts';
import { listHidden } from '../attempt/index.ts';
import {
  createResidentStarter,
  type ResidentStarter,
  type ResidentStarterOptions,
} from '../residents/index.ts';
import { bundlePath } from './bundle-path.ts';
import { findGuestProgram } from './inside-programs.ts';

export interface StarterRooms extends Pick<DispatchRooms, 'compute' | 'clock' | 'settings'> {
  readonly ledger: Pick<DispatchRooms['ledger'], 'kv'>;
}

export function openResidentStarter(
  { compute, ledger, clock, settings }: StarterRooms,
  times: ResidentStarterOptions['times'] = {},
  warn: ResidentStarterOptions['warn'] = () => undefined,
): ResidentStarter {
  const { relay } = settings.programs;
  return createResidentStarter({
    compute,
    kv: ledger.kv,
    clock,
    settings: { ...settings, programs: { relay, guest: findGuestProgram(settings.node) } },
    entry: bundlePath('resident.mjs'),
    listHidden: () => listHidden(settings, true),
    listBinds: () => toolBinds(settings, { bin: settings.node }, {}),
    times,
    warn,
  });
}
