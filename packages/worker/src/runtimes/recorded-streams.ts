/** Streams that were recorded from the real programs, as a driver reads them. */
import { readFileSync } from 'node:fs';
import type { AgentExit, AgentSignal, RuntimeDriver, UsageCount } from './contract.ts';

interface RecordedCase {
  readonly exit: AgentExit;
  /** What the model server counted. */
  readonly served: UsageCount;
}

export function replay(driver: RuntimeDriver, title: string) {
  const index: Record<string, RecordedCase> = JSON.parse(
    readFileSync(recordedFile(driver, 'cases.json'), 'utf8'),
  );
  const recorded = index[title];
  if (recorded === undefined) throw new Error(`no recording of ${driver.name} ${title}`);
  const { signals, stream } = feed(driver, recordedLines(driver, title));
  return { signals, ending: stream.end(recorded.exit), served: recorded.served };
}

export function feed(driver: RuntimeDriver, lines: readonly string[]) {
  const stream = driver.createStream();
  const signals: AgentSignal[] = lines.flatMap((line) => [...stream.line(line)]);
  return { stream, signals };
}

const recordedFile = (driver: RuntimeDriver, name: string): URL =>
  new URL(`./${driver.name}/recorded/${name}`, import.meta.url);

export const recordedLines = (driver: RuntimeDriver, title: string): readonly string[] =>
  readFileSync(recordedFile(driver, `${title}.ndjson`), 'utf8')
    .split('\n')
    .filter(Boolean);

export const eventTypes = (driver: RuntimeDriver): readonly string[] => [
  ...new Set(recordedLines(driver, 'edit').flatMap((line) => /"type":"(\w[\w.]*)"/.exec(line)?.[1] ?? [])),
  'none',
];

/** Whether each started tool ended well, in the order of their starts; a tool without an end fails the test. */
export function toolOutcomes(signals: readonly AgentSignal[]): readonly boolean[] {
  const ends = new Map(
    signals.flatMap((signal) => (signal.kind === 'tool-end' ? [[signal.callId, signal.ok]] : [])),
  );
  return signals.flatMap((signal) => {
    if (signal.kind !== 'tool-start') return [];
    const ok = ends.get(signal.callId);
    if (ok === undefined) throw new Error(`tool ${signal.tool} has no end`);
    return [ok];
  });
}

export function usageIn(signals: readonly AgentSignal[]): UsageCount {
  let sum: UsageCount = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  for (const signal of signals) {
    if (signal.kind !== 'usage') continue;
    const { usage, how } = signal;
    sum =
      how === 'total'
        ? usage
        : {
            inputTokens: sum.inputTokens + usage.inputTokens,
            outputTokens: sum.outputTokens + usage.outputTokens,
            cacheReadTokens: sum.cacheReadTokens + usage.cacheReadTokens,
            cacheWriteTokens: sum.cacheWriteTokens + usage.cacheWriteTokens,
          };
  }
  return sum;
}
