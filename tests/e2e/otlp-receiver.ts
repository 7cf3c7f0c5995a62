/** An OTLP receiver on loopback: what arrives, decoded from JSON or from the protocol's own wire format. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Record<string, string | number | boolean>;
  readonly events: readonly { readonly name: string; readonly atMs: number }[];
  /** 2: error. */
  readonly status: number;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Bodies of /v1/metrics. */
  readonly metrics: Buffer[];
  readonly headers: Record<string, unknown>[];
  readonly bodies: Buffer[];
  readonly server: Server;
}

/** `answer: 'never'` takes a request and says nothing. Without `port` any that is free. */
export async function startOtlpReceiver(answer: 'ok' | 'never' = 'ok', port = 0): Promise<OtlpReceiver> {
  const receiver = {
    spans: [] as ReceivedSpan[],
    metrics: [] as Buffer[],
    headers: [] as Record<string, unknown>[],
    bodies: [] as Buffer[],
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      receiver.headers.push(request.headers);
      receiver.bodies.push(body);
      const isJson = request.headers['content-type']?.includes('json') === true;
      if (request.url === '/v1/metrics') receiver.metrics.push(body);
      else receiver.spans.push(...(isJson ? spansOfJson(body) : spansOfProtobuf(body)));
      if (answer === 'ok') response.writeHead(200).end(isJson ? '{}' : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...receiver, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

interface JsonValue {
  stringValue?: string;
  intValue?: number;
  doubleValue?: number;
  boolValue?: boolean;
}
interface JsonSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: JsonValue }[];
  events: { name: string; timeUnixNano: string }[];
  status: { code: number };
}

function spansOfJson(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString('utf8')) as {
    resourceSpans: { scopeSpans: { spans: JsonSpan[] }[] }[];
  };
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map((span) => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId ?? '',
      name: span.name,
      startMs: toMs(BigInt(span.startTimeUnixNano)),
      endMs: toMs(BigInt(span.endTimeUnixNano)),
      attributes: Object.fromEntries(
        span.attributes.map(({ key, value }) => [key, Object.values(value)[0] as string]),
      ),
      events: span.events.map(({ name, timeUnixNano }) => ({ name, atMs: toMs(BigInt(timeUnixNano)) })),
      status: span.status.code,
    }));
}

/** Field numbers are those of opentelemetry/proto/trace/v1. */
function spansOfProtobuf(body: Buffer): ReceivedSpan[] {
  return readFields(body, 1)
    .flatMap((resourceSpans) => readFields(resourceSpans, 2))
    .flatMap((scopeSpans) => readFields(scopeSpans, 2))
    .map((span) => ({
      traceId: bytesOf(span, 1).toString('hex'),
      spanId: bytesOf(span, 2).toString('hex'),
      parentSpanId: bytesOf(span, 4).toString('hex'),
      name: bytesOf(span, 5).toString('utf8'),
      startMs: timeOf(span, 7),
      endMs: timeOf(span, 8),
      attributes: Object.fromEntries(
        readFields(span, 9).map((pair) => [bytesOf(pair, 1).toString('utf8'), valueOf(bytesOf(pair, 2))]),
      ),
      events: readFields(span, 11).map((event) => ({
        name: bytesOf(event, 2).toString('utf8'),
        atMs: timeOf(event, 1),
      })),
      status: Number(numberOf(bytesOf(span, 15), 3) ?? 0n),
    }));
}

/** The numbers of a body of /v1/metrics, by name: sums and gauges, and the count of a histogram; with the protocol's own wire. */
export function metricsOf(body: Buffer): ReadonlyMap<string, readonly number[]> {
  const metrics = readFields(body, 1)
    .flatMap((resourceMetrics) => readFields(resourceMetrics, 2))
    .flatMap((scopeMetrics) => readFields(scopeMetrics, 2));
  return new Map(
    metrics.map((metric) => {
      const points = [5, 7, 9].flatMap((kind) =>
        readFields(bytesOf(metric, kind), 1).map((point) => ({ kind, point })),
      );
      return [bytesOf(metric, 1).toString('utf8'), points.map(({ kind, point }) => pointOf(kind, point))];
    }),
  );
}

/** 5 is a gauge, 7 a sum, 9 a histogram: of that the count. */
function pointOf(kind: number, point: Buffer): number {
  const [field] = parseMessage(point).filter(({ number }) =>
    kind === 9 ? number === 4 : number === 4 || number === 6,
  );
  const value = field?.value;
  if (!Buffer.isBuffer(value)) return Number(value ?? NaN);
  return field?.number === 4 && kind !== 9 ? value.readDoubleLE() : Number(value.readBigInt64LE());
}

function valueOf(value: Buffer): string | number | boolean {
  const [field] = parseMessage(value);
  if (field === undefined) return '';
  if (field.number === 1) return (field.value as Buffer).toString('utf8');
  if (field.number === 4) return Number((field.value as Buffer).readDoubleLE());
  return field.number === 2 ? field.value === 1n : Number(field.value);
}

interface Field {
  readonly number: number;
  readonly value: bigint | Buffer;
}

function parseMessage(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (bytes: number): Buffer => message.subarray(at, (at += bytes));
  while (at < message.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire !== 0 && wire !== 1 && wire !== 2 && wire !== 5) throw new Error(`no such wire type: ${wire}`);
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()));
    fields.push({ number: tag >> 3, value });
  }
  return fields;
}

function readFields(message: Buffer, number: number): Buffer[] {
  return parseMessage(message).flatMap((field) =>
    field.number === number && Buffer.isBuffer(field.value) ? [field.value] : [],
  );
}

function bytesOf(message: Buffer, number: number): Buffer {
  return readFields(message, number)[0] ?? Buffer.alloc(0);
}

function numberOf(message: Buffer, number: number): bigint | null {
  const value = parseMessage(message).find((field) => field.number === number)?.value;
  return typeof value === 'bigint' ? value : null;
}

function timeOf(message: Buffer, number: number): number {
  return toMs(bytesOf(message, number).readBigUInt64LE());
}

function toMs(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}
