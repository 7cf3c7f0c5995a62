export type * from './contract.ts';
export { createTelemetry } from './create-telemetry.ts';
export { resolveTelemetry } from './resolve-telemetry.ts';
