/** Whether spans and metrics are exported, and to whom: `telemetry:` in the settings, or the standard `OTEL_*` variables. */
import type { OtlpProtocol, TelemetrySettings } from './contract.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface TelemetryChoice {
  /** Of `telemetry:`; headers are secret references. */
  readonly configured: {
    readonly endpoint: string;
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly service?: string | undefined;
  } | null;
  readonly env: Environment;
  readonly version: string;
  readonly hostId: string;
}

/** Headers of the settings are still references. Null: nothing is exported, and nothing is loaded. */
export function resolveTelemetry({
  configured,
  env,
  version,
  hostId,
}: TelemetryChoice): TelemetrySettings | null {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return null;
  const isInEnvironment =
    ENDPOINTS.some((name) => isSet(env[name])) || env['OTEL_TRACES_EXPORTER'] === 'otlp';
  if (!isInEnvironment && configured === null) return null;
  const exportsSpans = env['OTEL_TRACES_EXPORTER'] !== 'none';
  const exportsMetrics = env['OTEL_METRICS_EXPORTER'] !== 'none';
  if (!exportsSpans && !exportsMetrics) return null;
  const named =
    ENDPOINTS.map((name) => env[name]).find(isSet) ?? (isInEnvironment ? null : configured?.endpoint);
  const problem = findProblem(env, named);
  return {
    ...(problem === null ? {} : { problem }),
    address: addressOf(named ?? DEFAULT_ENDPOINT),
    receiver:
      isInEnvironment || configured === null
        ? null
        : { endpoint: configured.endpoint, headers: configured.headers ?? {} },
    protocol: { traces: protocolOf(env, 'TRACES'), metrics: protocolOf(env, 'METRICS') },
    exportsSpans,
    exportsMetrics,
    resource: {
      ...readAttributes(env['OTEL_RESOURCE_ATTRIBUTES']),
      'service.name': env['OTEL_SERVICE_NAME'] ?? configured?.service ?? 'caisson',
      'service.version': version,
      'service.instance.id': hostId,
    },
  };
}

const DEFAULT_ENDPOINT = 'http://localhost:4318';

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
];

/** What a person named and cannot be used; never silently another receiver. */
function findProblem(env: Environment, endpoint: string | null | undefined): string | null {
  for (const signal of ['TRACES', 'METRICS'] as const) {
    const name = protocolVariable(env, signal);
    const protocol = env[name] ?? '';
    if (!['', 'http/protobuf', 'http/json'].includes(protocol))
      return `${name} is ${protocol}; offered are http/protobuf (usually on port 4318) and http/json`;
  }
  const url = endpoint == null ? null : URL.parse(endpoint);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  return endpoint == null || isHttp ? null : `the address of its receiver is no http(s) URL: ${endpoint}`;
}

/** The variable of one signal wins over that of both. */
function protocolVariable(env: Environment, signal: 'TRACES' | 'METRICS'): string {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  return isSet(env[own]) ? own : 'OTEL_EXPORTER_OTLP_PROTOCOL';
}

function protocolOf(env: Environment, signal: 'TRACES' | 'METRICS'): OtlpProtocol {
  return env[protocolVariable(env, signal)] === 'http/json' ? 'http/json' : 'http/protobuf';
}

function addressOf(endpoint: string): TelemetrySettings['address'] {
  const { hostname, port, protocol } = URL.parse(endpoint) ?? new URL(DEFAULT_ENDPOINT);
  return {
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  };
}

/** The standard's lists: `name=value,name=value`, percent-encoded. What cannot be read is left out. */
function readAttributes(text = ''): Record<string, string> {
  const pairs = text.split(',').map((pair) => pair.split('=', 2).map((part) => part.trim()));
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (isSet(name) && isSet(value) ? [[name, decode(value)]] : [])),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not encoded
  }
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
