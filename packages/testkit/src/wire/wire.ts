import type { Answer } from '../answer.ts';
import type { Conversation } from '../conversation.ts';

/** One server-sent event. `event` is absent where the vendor sends data lines only. */
export interface ServerEvent {
  readonly event?: string;
  readonly data: unknown;
}

export interface WireError {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ErrorKind = '401' | '429' | '529' | '500' | 'context-overflow' | 'bad-request';

/** A vendor's wire format: how a request is read and an answer written. Pure. */
export interface Wire {
  parse(body: Readonly<Record<string, unknown>>, path: string): Conversation;
  /** Every event of a streamed answer, in order. */
  stream(answer: Answer): readonly ServerEvent[];
  /** The same answer in one body. */
  whole(answer: Answer): unknown;
  error(kind: ErrorKind, detail?: string): WireError;
  /** The line that ends a stream, where the format has one. */
  readonly streamEnd?: string;
}

export type Json = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

const MOST_CHUNKS = 500;

/** Splits text so that a stream has more than one delta, but not so many that clients get slow. */
export function chunksOf(text: string, least = 24): readonly string[] {
  const size = Math.max(least, Math.ceil(text.length / MOST_CHUNKS));
  const chunks: string[] = [];
  for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
  return chunks;
}
