/** A started worker, as its runtime sees it: orders in, checked lines out, one ending. */
import {
  createNdjsonDecoder,
  encodeNdjson,
  isRecord,
  RESIDENT_LINES,
  ResidentHeader,
  type ResidentEnding,
  type ResidentJob,
  type ResidentLine,
  type ResidentOrder,
} from '@caisson/protocol';
import type { WorkerProcess } from '../compute/index.ts';
import type { ResidentProcess } from './contract.ts';
import { createOrderWriter } from './order-writer.ts';

export interface StartedOptions {
  readonly worker: WorkerProcess;
  readonly job: Pick<ResidentJob, 'resident' | 'nonce'>;
  readonly unenforced: string | null;
  /** It ended, and its host did not want that: the next one is needed soon. */
  onLost(): void;
  /** Ends and removes everything of it, and never rejects; `isProvenGone`: the worker saw the end of its sandbox. */
  cleanUp(isProvenGone: boolean): Promise<void>;
}

export function describeStarted({
  worker,
  job,
  unenforced,
  onLost,
  cleanUp,
}: StartedOptions): ResidentProcess {
  let listener: (line: ResidentLine) => void = () => undefined;
  let last: ResidentEnding | null = null;
  let refusal: string | null = null;
  let [isKilled, isOver] = [false, false];
  const orders = createOrderWriter(worker.control);
  const read = readLines(worker, job, {
    onLine(line) {
      if (line.kind === 'ended') last = line.ending;
      listener(line);
    },
    onRefusal(why) {
      refusal = why;
      worker.kill();
    },
  });
  const findEnding = async (): Promise<ResidentEnding> => {
    const exit = await worker.exited;
    isOver = true;
    if (!isKilled && last?.why !== 'stopped') onLost();
    await read;
    const died = `its worker ended with ${exit.signal ?? `code ${exit.code}`}`;
    const detail = isKilled ? 'its host ended it' : (refusal ?? died);
    const why = isKilled ? 'stopped' : refusal === null ? 'worker-died' : 'protocol';
    const ending = last ?? { why, detail, stderrTail: worker.stderrTail() };
    await cleanUp(last !== null);
    return ending;
  };
  return {
    resident: job.resident,
    pid: worker.handle.pid,
    unenforced,
    send: (order) => (isOver ? Promise.resolve(false) : orders.write(encodeOrder(order))),
    onLine: (each) => void (listener = each),
    kill() {
      isKilled = true;
      worker.kill();
    },
    ended: findEnding(),
  };
}

/** A payload that is not there is null: JSON leaves out what is undefined, and the other side expects the key. */
function encodeOrder(order: ResidentOrder): string {
  const line = (() => {
    if (order.kind === 'turn')
      return {
        ...order,
        payload: order.payload ?? null,
        messages: order.messages.map((message) => ({ ...message, content: message.content ?? null })),
        steps: order.steps.map((step) =>
          step.outcome === undefined
            ? step
            : { ...step, outcome: { ...step.outcome, value: step.outcome.value ?? null } },
        ),
      };
    if (order.kind === 'step-done') return { ...order, value: order.value ?? null };
    if (order.kind === 'compute' && order.cause.kind === 'signal')
      return { ...order, cause: { ...order.cause, payload: order.cause.payload ?? null } };
    return order;
  })();
  return encodeNdjson(line);
}

interface LineListeners {
  onLine(line: ResidentLine): void;
  onRefusal(why: string): void;
}

/** Resolves when there is nothing more to read. */
function readLines(
  { stdout, exited }: WorkerProcess,
  job: Pick<ResidentJob, 'resident' | 'nonce'>,
  { onLine, onRefusal }: LineListeners,
): Promise<void> {
  const decoder = createNdjsonDecoder();
  let state: 'header' | 'lines' | 'refused' = 'header';
  const take = (value: unknown): void => {
    if (state === 'refused') return;
    if (state === 'header') {
      const header = ResidentHeader.safeParse(value).data;
      if (header?.nonce !== job.nonce || header.resident !== job.resident)
        return refuse('its first line is not its own');
      state = 'lines';
      return;
    }
    const line = parseLine(value);
    if (line === null) return refuse('its worker said what this version does not know');
    onLine(line);
  };
  const refuse = (why: string): void => {
    state = 'refused';
    onRefusal(why);
  };
  stdout.on('data', (chunk: Buffer) => {
    for (const record of decoder.push(chunk))
      if (record.kind === 'value') take(record.value);
      else if (state !== 'refused') refuse(`its worker wrote a line that is ${record.reason}`);
  });
  return new Promise((resolve) => {
    for (const end of ['end', 'close', 'error']) stdout.once(end, () => resolve());
    // Nobody else has its stdout: the rest is there already when it has exited.
    void exited.then(() => setTimeout(resolve, LAST_LINES_MS).unref());
  });
}

const LAST_LINES_MS = 1000;

function parseLine(value: unknown): ResidentLine | null {
  const kind = isRecord(value) ? value['kind'] : undefined;
  if (typeof kind !== 'string' || !Object.hasOwn(RESIDENT_LINES, kind)) return null;
  return RESIDENT_LINES[kind as keyof typeof RESIDENT_LINES].safeParse(value).data ?? null;
}
