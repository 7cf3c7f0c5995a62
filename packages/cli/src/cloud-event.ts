import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { pathToFileURL } from 'node:url';
import { toWire, type EventEnvelope } from '@caisson/protocol';

/** An event as CloudEvents 1.0 in JSON, structured mode. */
export interface CloudEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * A recorded event has the same `source` and `id` whenever it is read, and no other event has both: offsets begin again
 * only in a new state folder, at another time. One that is only published is never read twice.
 */
export function toCloudEvent(event: EventEnvelope, source: string): CloudEvent {
  const { type, runId, at, ...data } = toWire(event);
  const { offset } = event;
  return {
    specversion: '1.0',
    id: offset > 0 ? `${offset}-${Date.parse(at).toString(36)}` : `live-${randomUUID()}`,
    source,
    type: `caisson.${type}`,
    ...(runId === null ? {} : { subject: runId }),
    time: at,
    datacontenttype: 'application/json',
    data,
  };
}

/** A URI of the state folder on this machine. */
export function sourceOf(stateDir: string): string {
  const host = hostname().replaceAll(/[^A-Za-z0-9.-]/g, '-');
  return pathToFileURL(stateDir).href.replace('file://', `file://${host}`);
}
