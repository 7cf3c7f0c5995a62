/**
 * What a worker reads from its host at every start. In a bundle these are plain functions without the schema library,
 * written from the same schemas (scripts/schema-readers.mjs); why something was refused, the schema says.
 */
import * as z from 'zod/mini';
import { Job } from './job.ts';
import { ResidentJob } from './resident-job.ts';
import { GUEST_LINES, RESIDENT_ORDERS } from './resident-lines.ts';
import { ControlMessage } from './worker-lines.ts';

export interface Reader<T> {
  /** What the schema makes of a value that came as JSON; `null` where it refuses. */
  (value: unknown): T | null;
  readonly schema: z.ZodMiniType<T>;
}

export const readJob: Reader<Job> = readerOf(Job);
export const readControlMessage: Reader<ControlMessage> = readerOf(ControlMessage);
export const readResidentJob: Reader<ResidentJob> = readerOf(ResidentJob);
export const readResidentOrder = readerOf(
  z.discriminatedUnion('kind', [
    RESIDENT_ORDERS.compute,
    RESIDENT_ORDERS.turn,
    RESIDENT_ORDERS['step-done'],
    RESIDENT_ORDERS.delivered,
    RESIDENT_ORDERS.abandon,
    RESIDENT_ORDERS.stop,
  ]),
);
export const readGuestLine = readerOf(
  z.discriminatedUnion('kind', [
    GUEST_LINES.ready,
    GUEST_LINES.loaded,
    GUEST_LINES.pong,
    GUEST_LINES.computed,
    GUEST_LINES.undelivered,
    GUEST_LINES.step,
    GUEST_LINES.worked,
    GUEST_LINES.turned,
    GUEST_LINES.logged,
  ]),
);

function readerOf<T>(schema: z.ZodMiniType<T>): Reader<T> {
  return Object.assign((value: unknown) => schema.safeParse(value).data ?? null, { schema });
}
