/**
 * The network of an attempt, with what it sees as lines of the worker. The host that reads them may change or die; what
 * was reported is in the worker's events file.
 *
 * NL1  The call of a model is reported before the usage that counts it.
 * NL2  A call that begins, is answered or ends is reported at once, growth in between at most every 250 ms. After
 *      2,000 such lines all of it is, so that an agent that asks without end does not fill the disk.
 * NL3  `close` writes the last usage before it returns: nothing that the attempt used comes after that line.
 */
import type { Clock, NamedSecret } from '@caisson/ground';
import { definedOnly, type ModelApi, type NetworkPlan, type WorkerSaying } from '@caisson/protocol';
import type { ConnectionRecord, OpenNetwork, WatchedUsage } from './contract.ts';
import { openNetwork } from './open-network.ts';

const QUIET_MS = 250;
const MAX_AT_ONCE = 2000;
/** A denial is reported once per target and reason, and not at all after this many. */
const MAX_REPORTED_DENIALS = 64;

export interface AttemptNetwork extends OpenNetwork {
  /** Writes what the broker has seen of the model, if that is not what the last line says. Times count. */
  reportUsage(): void;
}

export interface AttemptNetworkOptions {
  readonly clock: Clock;
  /** Secrets of the agent; they are in no line. */
  readonly secrets: readonly NamedSecret[];
  write(line: WorkerSaying): void;
}

/** Resolves when the socket listens. Throws NetworkOpenError. */
export async function openAttemptNetwork(
  plan: NetworkPlan,
  { clock, secrets, write }: AttemptNetworkOptions,
): Promise<AttemptNetwork> {
  const onConnection = createConnectionReport(write);
  const network = await openNetwork({ clock }, { ...plan, secrets, onConnection });
  const api = plan.model?.api;
  const usage = network.usage === null ? null : createUsageReport(network.usage, clock, write, api);
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => {
    const closing = network.close();
    usage?.end(); // NL3
    return closing.catch((error: unknown) => {
      const message = `the network could not be cleaned up: ${(error as Error).message}`;
      write({ kind: 'warning', source: 'network', message });
    });
  };
  return { ...network, reportUsage: () => usage?.report(), close: () => (closed ??= close()) };
}

function createConnectionReport(write: AttemptNetworkOptions['write']): (record: ConnectionRecord) => void {
  const denied = new Set<string>();
  return (record) => {
    write({ kind: 'network.connection', ...record });
    const { target, verdict, via, detail } = record;
    const what = `connection to ${target}: ${detail ?? 'refused'}`;
    if (verdict !== 'denied' || denied.has(what) || denied.size >= MAX_REPORTED_DENIALS) return;
    denied.add(what);
    const rule = via === 'broker' ? 'broker' : 'network.hosts';
    write({ kind: 'policy.denied', denial: { layer: 'network', what, actionClass: 'network', rule } });
  };
}

interface UsageReport {
  report(): void;
  /** The last report; it is written in any case. */
  end(): void;
}

function createUsageReport(
  usage: WatchedUsage,
  clock: Clock,
  write: AttemptNetworkOptions['write'],
  api: ModelApi | undefined,
): UsageReport {
  let written = '';
  let atOnce = 0;
  let isOver = false;
  let cancelTimer: (() => void) | null = null;
  const stopTimer = (): void => {
    cancelTimer?.();
    cancelTimer = null;
  };
  const report = (): void => {
    stopTimer();
    const seen = usage.read();
    const text = JSON.stringify(seen);
    if (isOver || text === written) return;
    written = text;
    write({ kind: 'model.usage', usage: seen });
  };
  const reportSoon = (): void => {
    cancelTimer ??= clock.setTimer(QUIET_MS, report);
  };
  usage.onCall = (call) => write({ kind: 'model.called', ...call, ...definedOnly({ api }) }); // NL1
  usage.onGrowth = reportSoon;
  usage.onChange = () => {
    if ((atOnce += 1) <= MAX_AT_ONCE) report();
    else reportSoon();
  };
  return {
    report,
    end() {
      written = '';
      report();
      isOver = true;
    },
  };
}
