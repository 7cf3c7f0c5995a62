/**
 * A runtime's adapter may be the user's own code. If one of its methods throws, or breaks its contract, that is a
 * failure of the attempt that names adapter and method: it never ends the worker.
 */
import { fail, type StepFailure } from '../attempt/index.ts';
import type { AgentEnding, AgentSignal, AgentStream, DriverInput, RuntimeDriver } from '../runtimes/index.ts';

export interface GuardedDriver {
  command(input: DriverInput): ReturnType<RuntimeDriver['command']>;
  createStream(input: DriverInput): AgentStream;
}

/** Everything it throws is a {@link StepFailure}. */
export function guardDriver(driver: RuntimeDriver, name: string): GuardedDriver {
  const guard = <T>(method: string, work: () => T): T => guarded(name, method, work);
  return {
    command: (input) =>
      guard('command', () => {
        const command = demandNow(driver.command(input));
        if (!Array.isArray(command?.argv)) throw new TypeError('it returned no argv');
        return {
          ...command,
          env: command.env ?? {},
          files: command.files ?? [],
          stdin: command.stdin ?? null,
        };
      }),
    createStream: (input) => {
      const stream = guard('createStream', () => demandObject(demandNow(driver.createStream(input))));
      return {
        line: (text) => guard('line', () => demandSignals(demandNow(stream.line(text)))),
        end: (exit) => guard('end', () => demandEnding(demandNow(stream.end(exit)))),
        ...(stream.answer === undefined
          ? {}
          : {
              answer: (...asked) => guard('answer', () => demandLine(demandNow(stream.answer?.(...asked)))),
            }),
        ...(stream.inject === undefined
          ? {}
          : { inject: (body) => guard('inject', () => demandLine(demandNow(stream.inject?.(body)))) }),
      };
    },
  };
}

function guarded<T>(name: string, method: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw adapterFailure(name, method, error);
  }
}

/** The reported failure of an adapter. */
export function adapterFailure(name: string, method: string, error: unknown): StepFailure {
  const why = (error instanceof Error ? error.message : String(error)).slice(0, 2000);
  const detail = `the adapter of the runtime "${name}" failed in ${method}(): ${why}`;
  return fail('worker-failed', detail, { step: 'pipeline' });
}

function demandObject<T>(value: T): T {
  if (typeof value !== 'object' || value === null) throw new TypeError(`it returned ${String(value)}`);
  return value;
}

/** No method may be async. The promise's result is not used, especially not its error. */
function demandNow<T>(value: T): T {
  if (!(value instanceof Promise)) return value;
  value.catch(() => undefined);
  throw new TypeError('it returned a promise; it must answer at once');
}

function demandSignals(signals: readonly AgentSignal[]): readonly AgentSignal[] {
  return [...signals].map(demandObject);
}

function demandEnding(ending: AgentEnding): AgentEnding {
  demandObject(ending);
  if (ending.kind === 'answered' && typeof ending.reply === 'string') return ending;
  if (ending.kind === 'failed' && typeof ending.detail === 'string') return ending;
  throw new TypeError('it returned neither an answer with a reply nor a failure with a detail');
}

function demandLine(line: unknown): string {
  if (typeof line === 'string') return line;
  throw new TypeError(`it returned ${String(line)}, not a line`);
}
