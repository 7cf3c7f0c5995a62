/** Whether spans and metrics are exported, and to whom: `telemetry:` in the settings, or the standard `OTEL_*` variables. */
import type { OtlpProtocol, ReceiverAddress, TelemetrySettings } from './contract.ts';

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
    SIGNALS.some((signal) => endpointIn(env, signal) !== undefined) || env['OTEL_TRACES_EXPORTER'] === 'otlp';
  if (!isInEnvironment && configured === null) return null;
  const exportsSpans = env['OTEL_TRACES_EXPORTER'] !== 'none';
  const exportsMetrics = env['OTEL_METRICS_EXPORTER'] !== 'none';
  if (!exportsSpans && !exportsMetrics) return null;
  const settings = isInEnvironment ? null : configured;
  const endpointOf = (signal: Signal): string =>
    settings?.endpoint ?? endpointIn(env, signal) ?? DEFAULT_ENDPOINT;
  const attributes = readAttributes(env['OTEL_RESOURCE_ATTRIBUTES']);
  const names = [env['OTEL_SERVICE_NAME'], attributes['service.name'], configured?.service];
  const problem = findProblem(env, SIGNALS.map(endpointOf));
  return {
    ...(problem === null ? {} : { problem }),
    address: { traces: addressOf(endpointOf('TRACES')), metrics: addressOf(endpointOf('METRICS')) },
    receiver: settings === null ? null : { endpoint: settings.endpoint, headers: settings.headers ?? {} },
    protocol: { traces: protocolOf(env, 'TRACES'), metrics: protocolOf(env, 'METRICS') },
    exportsSpans,
    exportsMetrics,
    resource: {
      ...attributes,
      'service.name': names.find(isSet) ?? 'caisson',
      'service.version': version,
      'service.instance.id': hostId,
    },
  };
}

const DEFAULT_ENDPOINT = 'http://localhost:4318';

type Signal = 'TRACES' | 'METRICS';
const SIGNALS: readonly Signal[] = ['TRACES', 'METRICS'];

/** The address of one signal wins over that of both. */
function endpointIn(env: Environment, signal: Signal): string | undefined {
  return [env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`], env['OTEL_EXPORTER_OTLP_ENDPOINT']].find(isSet);
}

/** What a person named and cannot be used; never silently another receiver. */
function findProblem(env: Environment, endpoints: readonly string[]): string | null {
  for (const signal of SIGNALS) {
    const name = protocolVariable(env, signal);
    const protocol = env[name] ?? '';
    if (!['', 'http/protobuf', 'http/json'].includes(protocol))
      return `${name} is ${protocol}; offered are http/protobuf (usually on port 4318) and http/json`;
  }
  const wrong = endpoints.find((endpoint) => !isHttp(endpoint));
  return wrong === undefined ? null : `the address of its receiver is no http(s) URL: ${wrong}`;
}

function isHttp(endpoint: string): boolean {
  return ['http:', 'https:'].includes(URL.parse(endpoint)?.protocol ?? '');
}

/** The variable of one signal wins over that of both. */
function protocolVariable(env: Environment, signal: Signal): string {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  return isSet(env[own]) ? own : 'OTEL_EXPORTER_OTLP_PROTOCOL';
}

function protocolOf(env: Environment, signal: Signal): OtlpProtocol {
  return env[protocolVariable(env, signal)] === 'http/json' ? 'http/json' : 'http/protobuf';
}

function addressOf(endpoint: string): ReceiverAddress {
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
