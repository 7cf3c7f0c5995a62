import { BusTopic } from '@caisson/protocol';
import type { HostPost } from '../hosts/index.ts';
import type { Engine } from './engine-contract.ts';

/** How long an ending waits for its callbacks; the rest is left to the next host. */
const LAST_CALLBACKS_MS = 2000;

/** How long an ending waits for what the bucket missed earlier; the next host sends the rest. */
const LAST_BLOBS_MS = 5000;

/** How long an ending waits for the receiver of its spans; what it has not got by then is lost. */
const LAST_EXPORT_MS = 1000;

/** In this order: no warning comes after its listener is gone. */
export async function closeRooms(
  engine: Omit<Engine, 'config' | 'env' | 'openPost' | 'checkPost' | 'beginAdopting' | 'recover' | 'close'>,
  post: Promise<HostPost> | null,
): Promise<void> {
  const { bus, dispatcher, rooms, callbacks, sealer, mirror, telemetry, recorder, ledger, feed } = engine;
  if (post !== null) bus.emit(BusTopic.SHUTDOWN_DRAINING, {});
  await dispatcher.shutdown();
  rooms.compute.spares.stop();
  await callbacks.settle(LAST_CALLBACKS_MS);
  await callbacks.stop();
  await sealer.settle(LAST_CALLBACKS_MS);
  await mirror?.settle(LAST_BLOBS_MS);
  await telemetry.settle(LAST_EXPORT_MS);
  await (await post)?.stop();
  await recorder.flush();
  feed.stop();
  await ledger.close();
}
