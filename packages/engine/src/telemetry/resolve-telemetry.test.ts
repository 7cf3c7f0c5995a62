import { expect, test } from 'vitest';
import { resolveTelemetry } from './resolve-telemetry.ts';

const about = { version: '1.2.3', hostId: 'host_1' };
const configured = { endpoint: 'https://otel.example/base' };

test.each([
  ['nothing is configured', {}, null],
  ['the standard switch is off', { OTEL_SDK_DISABLED: 'true' }, configured],
  ['no signal is left', { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }, configured],
])('nothing is exported where %s', (_, env, given) => {
  expect(resolveTelemetry({ configured: given, env, ...about })).toBeNull();
});

test('the settings name a receiver', () => {
  expect(resolveTelemetry({ configured, env: {}, ...about })).toEqual({
    receiver: { endpoint: 'https://otel.example/base', headers: {} },
    address: { host: 'otel.example', port: 443 },
    protocol: { traces: 'http/protobuf', metrics: 'http/protobuf' },
    exportsSpans: true,
    exportsMetrics: true,
    resource: { 'service.name': 'caisson', 'service.version': '1.2.3', 'service.instance.id': 'host_1' },
  });
});

test('the variables of the standard win, and the exporter reads them', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://[::1]:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_SERVICE_NAME: 'ours',
    OTEL_RESOURCE_ATTRIBUTES: 'team=red%20one,broken,service.name=theirs',
  };
  expect(resolveTelemetry({ configured, env, ...about })).toMatchObject({
    receiver: null,
    address: { host: '::1', port: 4318 },
    protocol: { traces: 'http/json', metrics: 'http/json' },
    exportsMetrics: false,
    resource: { 'service.name': 'ours', team: 'red one' },
  });
});

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' }, 'no http(s) URL: nonsense'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, 'no http(s) URL'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'is grpc'],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is grpc',
  ],
])('%j is reported, and never replaced by another receiver', (env, problem) => {
  const settings = resolveTelemetry({ configured: null, env, ...about });
  expect(settings?.problem).toContain(problem);
});

test('each signal may have a protocol of its own', () => {
  const env = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf',
  };
  const settings = resolveTelemetry({ configured, env, ...about });
  expect(settings?.protocol).toEqual({ traces: 'http/json', metrics: 'http/protobuf' });
  expect(settings?.problem).toBeUndefined();
});
