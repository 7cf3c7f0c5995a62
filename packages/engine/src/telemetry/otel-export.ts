/** Hands spans and metrics to OpenTelemetry's own exporters. Loaded only when telemetry is configured, or its page is read. */
import { SpanKind, SpanStatusCode, ValueType, type HrTime, type SpanContext } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { OTLPTraceExporter as JsonSpans } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufSpans } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  PeriodicExportingMetricReader,
  type CollectionResult,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { canConnect } from './can-connect.ts';
import { watchLoop } from './loop-watch.ts';
import type { Exporter, Metric, RunSpan, TelemetrySettings } from './contract.ts';

export { watchLoop };

export interface OtelExport {
  createExporter: typeof createExporter;
  formatPage: typeof formatPage;
  watchLoop: typeof watchLoop;
}

const SCOPE = { name: 'caisson' };
/** Spans of some hundred runs: what a receiver that is away for a moment misses nothing of. */
const QUEUE_SPANS = 16_384;
const BATCH_SPANS = 512;
const BATCH_DELAY_MS = 1000;
/** A receiver that does not answer holds one batch for so long. */
const TIMEOUT_MS = 10_000;

export function createExporter(
  settings: TelemetrySettings,
  readMetrics: () => readonly Metric[],
  warn: (message: string) => void,
): Exporter {
  const resource = resourceFromAttributes(settings.resource);
  const spans = settings.exportsSpans ? openSpans(settings, warn) : null;
  const metrics = settings.exportsMetrics ? openMetrics(settings, resource, readMetrics) : null;
  const outlets = [
    ...(spans === null
      ? []
      : [{ what: 'spans', address: settings.address.traces, end: () => spans.shutdown() }]),
    ...(metrics === null
      ? []
      : [{ what: 'metrics', address: settings.address.metrics, end: () => metrics.shutdown() }]),
  ].map((outlet) => ({ ...outlet, wasThere: canConnect(outlet.address) }));
  return {
    send(runSpans) {
      for (const span of runSpans) spans?.onEnd(toReadable(span, resource));
    },
    async settle() {
      const unreached = new Map<string, string>();
      const settling = outlets.map(async ({ what, address, end, wasThere }) => {
        const ended = end().catch(() => undefined); // what could not be sent is said when it is tried
        // It may have been started since then: only who is away now costs no wait (TE3).
        if ((await wasThere) || (await canConnect(address))) return void (await ended);
        const place = `${address.host}:${address.port}`;
        if (!unreached.has(place)) unreached.set(place, what);
      });
      await Promise.all(settling);
      for (const [place, what] of unreached) warn(`no receiver of ${what} could be reached at ${place}`);
    },
  };
}

/** The metrics as Prometheus reads them. */
export function formatPage(resource: TelemetrySettings['resource'], metrics: readonly Metric[]): string {
  const collected = collect(resourceFromAttributes(resource), metrics, Date.now());
  return new PrometheusSerializer('', false, undefined, true, true).serialize(collected.resourceMetrics);
}

function openSpans(settings: TelemetrySettings, warn: (message: string) => void): BatchSpanProcessor {
  const inner =
    settings.protocol.traces === 'http/json'
      ? new JsonSpans(connect(settings, 'traces'))
      : new ProtobufSpans(connect(settings, 'traces'));
  return new BatchSpanProcessor({
    exporter: warnOnce(inner, warn),
    maxQueueSize: QUEUE_SPANS,
    maxExportBatchSize: BATCH_SPANS,
    scheduledDelayMillis: BATCH_DELAY_MS,
    exportTimeoutMillis: TIMEOUT_MS,
  });
}

function openMetrics(
  settings: TelemetrySettings,
  resource: Resource,
  readMetrics: () => readonly Metric[],
): PeriodicExportingMetricReader {
  const exporter =
    settings.protocol.metrics === 'http/json'
      ? new JsonMetrics(connect(settings, 'metrics'))
      : new ProtobufMetrics(connect(settings, 'metrics'));
  const reader = new PeriodicExportingMetricReader({ exporter });
  const sinceMs = Date.now();
  reader.setMetricProducer({ collect: () => Promise.resolve(collect(resource, readMetrics(), sinceMs)) });
  return reader;
}

/** Without a receiver of the settings the exporter reads the variables of the standard. */
function connect({ receiver }: TelemetrySettings, signal: 'traces' | 'metrics') {
  if (receiver === null) return {};
  const { endpoint, headers } = receiver;
  return { url: `${endpoint.replace(/\/+$/, '')}/v1/${signal}`, headers: { ...headers } };
}

type SpanExporter = ConstructorParameters<typeof BatchSpanProcessor>[0]['exporter'];

/** One warning for each time that the receiver goes away. */
function warnOnce(inner: SpanExporter, warn: (message: string) => void): SpanExporter {
  let isAway = false;
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        if (result.error !== undefined && !isAway)
          warn(`spans could not be exported and are dropped: ${result.error.message}`);
        isAway = result.error !== undefined;
        done(result);
      });
    },
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => inner.shutdown(),
  };
}

function toReadable(span: RunSpan, resource: Resource): ReadableSpan {
  const { traceId, flags, parentSpanId, error } = span;
  const traceFlags = Number.parseInt(flags, 16);
  const contextOf = (spanId: string): SpanContext => ({ traceId, spanId, traceFlags });
  return {
    name: span.name,
    kind: span.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => contextOf(span.spanId),
    ...(parentSpanId === null ? {} : { parentSpanContext: contextOf(parentSpanId) }),
    startTime: toHrTime(span.startMs),
    endTime: toHrTime(span.endMs),
    duration: toHrTime(span.endMs - span.startMs),
    status:
      error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes: span.attributes,
    links: [],
    events: span.events.map(({ name, atMs }) => ({ name, time: toHrTime(atMs) })),
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
}

function collect(resource: Resource, metrics: readonly Metric[], sinceMs: number): CollectionResult {
  const times = { startTime: toHrTime(sinceMs), endTime: toHrTime(Date.now()) };
  const scopeMetrics = [{ scope: SCOPE, metrics: metrics.map((metric) => toMetricData(metric, times)) }];
  return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
}

function toMetricData(metric: Metric, times: { startTime: HrTime; endTime: HrTime }): MetricData {
  const { name, unit, help: description } = metric;
  const frame = {
    descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const pointOf = <T>(labels: Metric['points'][number]['labels'], value: T) => ({
    ...times,
    attributes: { ...labels },
    value,
  });
  switch (metric.kind) {
    case 'counter':
      return {
        ...frame,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: metric.points.map(({ labels, value }) => pointOf(labels, value)),
      };
    case 'gauge':
      return {
        ...frame,
        dataPointType: DataPointType.GAUGE,
        dataPoints: metric.points.map(({ labels, value }) => pointOf(labels, value)),
      };
    case 'histogram':
      return {
        ...frame,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: metric.points.map(({ labels, bounds, counts, sum, count }) =>
          pointOf(labels, { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count }),
        ),
      };
  }
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
