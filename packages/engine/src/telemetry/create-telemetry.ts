import { isEnding } from '@caisson/protocol';
import type { Ledger, PublishedEvent } from '../ledger/index.ts';
import type { Exporter, Telemetry, TelemetrySettings } from './contract.ts';
import type { LoopWatch } from './loop-watch.ts';
import type { OtelExport } from './otel-export.ts';
import { createRunMetrics, type LiveNumbers } from './run-metrics.ts';
import { isComplete, isPushOutcome, spansOfRun } from './spans-of-run.ts';

export interface TelemetryOptions {
  readonly ledger: Pick<Ledger, 'readRun' | 'run'>;
  /** Null: metrics are counted for the page alone. */
  readonly settings: TelemetrySettings | null;
  /** Where a header of the settings is. */
  resolveSecret(ref: string): Promise<string>;
  countRuns(): LiveNumbers['runs'];
  warn(message: string): void;
}

type Loaded = Omit<OtelExport, 'watchLoop'> & { readonly loop: LoopWatch };

/** Receives every event that this process records. Nothing is loaded before the first run (TE3). */
export function createTelemetry(
  options: TelemetryOptions,
  load: () => Promise<OtelExport> = () => import('./otel-export.ts'),
): Telemetry & { receive(event: PublishedEvent): void } {
  const { ledger, settings, warn } = options;
  const metrics = createRunMetrics((runId) => ledger.run(runId)?.runtime ?? '');
  let loaded: Promise<Loaded> | null = null;
  const loadOnce = () => (loaded ??= load().then((otel) => ({ ...otel, loop: otel.watchLoop() })));
  const read = ({ loop }: Loaded) => metrics.read({ runs: options.countRuns(), loopDelay: loop.read() });
  const sending = new Set<Promise<void>>();
  let exporter: Promise<Exporter | null> | null = null;

  const open = async (to: TelemetrySettings): Promise<Exporter | null> => {
    try {
      if (to.problem !== undefined) throw new Error(to.problem);
      const headers = await resolveHeaders(to, options);
      const otel = await loadOnce();
      return otel.createExporter({ ...to, ...headers }, () => read(otel), warn);
    } catch (error) {
      warn(`telemetry is not exported: ${(error as Error).message}`);
      return null;
    }
  };
  const send = async (runId: string, seq: number): Promise<void> => {
    const events = (await ledger.readRun(runId)).filter((event) => event.seq <= seq);
    const isFirst = !isComplete(events.slice(0, -1)); // TE2
    if (isFirst && isComplete(events)) (await exporter)?.send(spansOfRun(events));
  };
  const settleAll = async (): Promise<void> => {
    await Promise.all(sending);
    await (await exporter)?.settle();
  };
  return {
    receive(event) {
      metrics.receive(event);
      const { runId, seq } = event;
      if (settings === null || runId === null || seq === 0) return;
      exporter ??= open(settings);
      if (!isEnding(event) && !isPushOutcome(event)) return;
      const sent = send(runId, seq)
        .catch((error: unknown) =>
          warn(`the spans of ${runId} were not exported: ${(error as Error).message}`),
        )
        .finally(() => sending.delete(sent));
      sending.add(sent);
    },
    async settle(limitMs) {
      if (exporter !== null) await within(limitMs, settleAll()); // TE3
      void loaded?.then(({ loop }) => loop.stop()).catch(() => undefined);
    },
    async page() {
      const otel = await loadOnce();
      return otel.formatPage(settings?.resource ?? {}, read(otel));
    },
  };
}

async function resolveHeaders(
  { receiver }: TelemetrySettings,
  { resolveSecret }: Pick<TelemetryOptions, 'resolveSecret'>,
): Promise<Pick<TelemetrySettings, 'receiver'>> {
  if (receiver === null) return { receiver };
  const headers: Record<string, string> = {};
  if (Object.keys(receiver.headers).length > 0 && isReadableOnTheWay(receiver.endpoint))
    throw new Error(`others could read its headers on their way to ${receiver.endpoint}; use https`);
  for (const [name, ref] of Object.entries(receiver.headers)) headers[name] = await resolveSecret(ref);
  return { receiver: { ...receiver, headers } };
}

/** Without encryption, to another machine. */
function isReadableOnTheWay(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint);
  return protocol === 'http:' && !/^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, limitMs);
  await Promise.race([work, over.promise]);
  clearTimeout(timer);
}
