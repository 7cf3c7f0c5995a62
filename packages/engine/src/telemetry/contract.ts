/** What a run was, as a tree of spans. Times are milliseconds since 1970, by the ledger. */
export interface RunSpan {
  readonly name: string;
  readonly kind: 'internal' | 'client';
  readonly traceId: string;
  readonly spanId: string;
  /** Null for a run that no one's trace names. */
  readonly parentSpanId: string | null;
  readonly flags: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  readonly events: readonly SpanEvent[];
  /** What went wrong, in short; absent where nothing did. */
  readonly error?: string;
}

export type SpanValue = string | number | boolean;

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
}

/** A number at this moment, with what it is the number of. */
export interface MetricPoint {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** `counts[i]` are the values up to `bounds[i]`; the last one are those above. */
export interface DurationPoint {
  readonly labels: Readonly<Record<string, string>>;
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

export type Metric = { readonly name: string; readonly help: string; readonly unit: string } & (
  | { readonly kind: 'counter' | 'gauge'; readonly points: readonly MetricPoint[] }
  | { readonly kind: 'histogram'; readonly points: readonly DurationPoint[] }
);

export type OtlpProtocol = 'http/protobuf' | 'http/json';

export interface ReceiverAddress {
  readonly host: string;
  readonly port: number;
}

/** Where spans and metrics go. */
export interface TelemetrySettings {
  /** Null: the exporter reads the standard `OTEL_*` variables itself. */
  readonly receiver: {
    readonly endpoint: string;
    readonly headers: Readonly<Record<string, string>>;
  } | null;
  /** Where the receiver of each signal listens, by the settings or the variables. */
  readonly address: Readonly<Record<'traces' | 'metrics', ReceiverAddress>>;
  /** Why nothing can be exported, although it was asked for. */
  readonly problem?: string;
  readonly protocol: Readonly<Record<'traces' | 'metrics', OtlpProtocol>>;
  readonly exportsSpans: boolean;
  readonly exportsMetrics: boolean;
  /** Of the process: service name, version, host. */
  readonly resource: Readonly<Record<string, string>>;
}

/** Takes spans and metrics to a receiver. Nothing here throws or rejects. */
export interface Exporter {
  send(spans: readonly RunSpan[]): void;
  /** Ends it; resolves when what was sent has arrived, or cannot arrive. */
  settle(): Promise<void>;
}

export interface Telemetry {
  /** Resolves when what is on its way has arrived, or the limit is over. */
  settle(limitMs: number): Promise<void>;
  /** The metrics as a page for Prometheus. */
  page(): Promise<string>;
}
