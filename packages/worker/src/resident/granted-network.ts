import type { NetworkPlan } from '@caisson/protocol';
import { systemClock } from '@caisson/ground';
import type { OpenNetwork } from '../network/index.ts';
import type { OutputLog } from './output-log.ts';

/** Opens the way to the granted hosts. A resident without one does not load HTTP and TLS. */
export async function openGrantedNetwork(
  plan: NetworkPlan | null,
  log: OutputLog,
): Promise<OpenNetwork | null> {
  if (plan === null) return null;
  const { openNetwork } = await import('../network/index.ts');
  return openNetwork(
    { clock: systemClock },
    {
      ...plan,
      onConnection({ target, verdict, detail }) {
        if (verdict === 'denied') log.write('network', `connection to ${target}: ${detail ?? 'refused'}`);
      },
    },
  );
}
