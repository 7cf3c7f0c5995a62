import type * as z from 'zod/mini';

/** One event: what it carries, whether it is written down, and what it means. Its key in the table is its type. */
export interface EventDefinition {
  readonly version: number;
  readonly durable: boolean;
  readonly summary: string;
  readonly data: z.ZodMiniObject;
}

/** Events of one area. `EVENTS` joins the tables; an event stands in one of them and nowhere else. */
export type EventTable = Readonly<Record<string, EventDefinition>>;
