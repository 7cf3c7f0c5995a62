/** What led to a compute, as a text that its guest keeps for what it emits, and cannot make up: causes end loops (RE9). */
import type { Stamp } from '@caisson/ground';
import { Cause } from '@caisson/protocol';
import * as z from 'zod/mini';

const PURPOSE = 'compute-origin';
const Origin = z.object({ sense: z.string(), computeId: z.string(), causes: z.array(Cause) });
type Origin = { readonly sense: string; readonly computeId: string; readonly causes: readonly Cause[] };

export function sealOrigin(stamp: Pick<Stamp, 'wrap'>, { sense, computeId, causes }: Origin): string {
  return stamp.wrap(PURPOSE, JSON.stringify({ sense, computeId, causes }));
}

/** The causes; null if it is not what a host of this project has sealed for that compute. */
export function openOrigin(
  stamp: Pick<Stamp, 'unwrap'>,
  origin: string,
  { sense, computeId }: Omit<Origin, 'causes'>,
): readonly Cause[] | null {
  const text = stamp.unwrap(PURPOSE, origin);
  const found = text === null ? undefined : Origin.safeParse(JSON.parse(text)).data;
  return found?.sense === sense && found.computeId === computeId ? found.causes : null;
}
