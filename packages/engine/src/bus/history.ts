import type { BusTopic } from '@caisson/protocol';

/** The latest emissions, for subscribers that continue after a number. Memory is fixed. */
export interface History {
  put(seq: number, topic: BusTopic, payload: unknown): void;
  /** The oldest number still known when `lastSeq` was the latest. */
  oldest(lastSeq: number): number;
  topicOf(seq: number): BusTopic;
  payloadOf(seq: number): unknown;
}

export function createHistory(size: number): History {
  if (!Number.isInteger(Math.log2(size))) {
    throw new RangeError(`historySize must be a power of two, got ${size}; use for example 1024.`);
  }
  const mask = size - 1;
  const topics = Array.from<BusTopic | undefined>({ length: size });
  const payloads = Array.from<unknown>({ length: size });
  return {
    put(seq, topic, payload) {
      topics[seq & mask] = topic;
      payloads[seq & mask] = payload;
    },
    oldest: (lastSeq) => Math.max(1, lastSeq - size + 1),
    topicOf: (seq) => topics[seq & mask] as BusTopic,
    payloadOf: (seq) => payloads[seq & mask],
  };
}
