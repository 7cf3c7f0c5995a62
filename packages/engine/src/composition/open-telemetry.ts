import { BusTopic } from '@caisson/protocol';
import { createTelemetry, resolveTelemetry } from '../telemetry/index.ts';
import type { Engine } from './engine-contract.ts';

interface Given extends Pick<Engine, 'config' | 'env' | 'ledger' | 'hostId' | 'bus'> {
  readonly secrets: Pick<Engine['rooms']['secrets'], 'resolve'>;
  readonly version: string | undefined;
}

/** Spans and metrics of what this process records. */
export function openTelemetry({ config, env, ledger, hostId, bus, secrets, version = 'unknown' }: Given) {
  return createTelemetry({
    ledger,
    settings: resolveTelemetry({ configured: config.telemetry, env, version, hostId }),
    resolveSecret: (ref) => secrets.resolve(ref),
    countRuns() {
      const rows = ledger.runs({ status: ['queued', 'running'] });
      const running = rows.filter(({ status }) => status === 'running').length;
      return { running, queued: rows.length - running };
    },
    warn: (message) => void bus.emit(BusTopic.WARNING, { source: 'telemetry', message }),
  });
}
