import { expect, test } from 'vitest';
import { resolveTelemetry } from './resolve-telemetry.ts';

const about = { version: '1.2.3', hostId: 'host_1' };
const OTEL_EXAMPLE = { host: 'otel.example', port: 443 };
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
    address: { traces: OTEL_EXAMPLE, metrics: OTEL_EXAMPLE },
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
    address: { traces: { host: '::1', port: 4318 } },
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

test('each signal may have a receiver of its own', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://both:1',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics.example/v1/metrics',
  };
  expect(resolveTelemetry({ configured, env, ...about })?.address).toEqual({
    traces: { host: 'both', port: 1 },
    metrics: { host: 'metrics.example', port: 443 },
  });
  const only = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:2', OTEL_EXPORTER_OTLP_ENDPOINT: '' };
  expect(resolveTelemetry({ configured, env: only, ...about })?.address).toEqual({
    traces: { host: 'traces', port: 2 },
    metrics: { host: 'localhost', port: 4318 },
  });
});

test.each([
  [{ OTEL_SERVICE_NAME: 'name', OTEL_RESOURCE_ATTRIBUTES: 'service.name=attribute' }, 'file', 'name'],
  [{ OTEL_SERVICE_NAME: '', OTEL_RESOURCE_ATTRIBUTES: 'service.name=attribute' }, 'file', 'attribute'],
  [{ OTEL_SERVICE_NAME: '' }, 'file', 'file'],
  [{ OTEL_SERVICE_NAME: '' }, undefined, 'caisson'],
])('with %j, and %s in the settings, the service is %s', (env, service, name) => {
  const given = { ...configured, service };
  const settings = resolveTelemetry({ configured: given, env, ...about });
  expect(settings?.resource['service.name']).toBe(name);
});
