/** Errors on their way through the API: what a person reads at the other end is what was thrown here. */
import { CaissonError, definedOnly, isRecord, Problem, toErrorInfo } from '@caisson/protocol';
import { TaskRefusedError, VisitRefusedError, type Refusal } from '../platform/index.ts';

const STATUS: Readonly<Record<string, number>> = {
  USAGE: 400,
  TASK_REFUSED: 422,
  TRUST_REQUIRED: 403,
  PROJECT_REFUSED: 403,
  STATE_REFUSED: 403,
  POLICY_DENIED: 403,
  RUN_NOT_FOUND: 404,
  UNKNOWN_NAME: 404,
  ATTACHMENT_GONE: 404,
  RUN_AMBIGUOUS: 409,
  INTERNAL: 500,
};
const OTHER = 409;

const REMEDY =
  'caisson status says whether it runs, caisson runs what became of the work; --no-daemon does without it.';

/** The host did not answer, or went away before it did. */
export class DaemonGoneError extends CaissonError {
  readonly code = 'DAEMON_GONE';
  override readonly retryable = true;

  constructor(what: string, cause: unknown, remedy = REMEDY) {
    super(what, { cause, remedy });
  }

  during(runId: string): DaemonGoneError {
    const remedy = `If its agent was at work, it goes on for a while: caisson up -d starts a daemon that adopts it, and caisson logs -f ${runId} follows it.`;
    return new DaemonGoneError(`the daemon went away while ${runId} was under way`, this, remedy);
  }
}

const LOSSES: ReadonlySet<string> = new Set(['DAEMON_GONE', 'RUN_LEFT', 'RUN_TAKEN_OVER']);

/** Whether the daemon went away, or drives the run no longer: the run may go on. */
export function isDaemonLoss(error: unknown): boolean {
  return error instanceof CaissonError && LOSSES.has(error.code);
}

/** An error of the host, with the code it has there. */
class RemoteError extends CaissonError {
  readonly code: string;
  override readonly retryable: boolean;

  constructor({ code, message, retryable, remedy, details = {} }: Problem) {
    super(message, definedOnly({ remedy }));
    Object.assign(this, details);
    this.code = code;
    this.retryable = retryable;
  }
}

/** The input of a call is not what its operation takes. */
export class InputInvalidError extends CaissonError {
  readonly code = 'USAGE';
}

export function toProblem(error: unknown): Problem {
  const info = toErrorInfo(error);
  return {
    type: 'about:blank',
    title: info.code,
    status: error instanceof VisitRefusedError ? error.status : (STATUS[info.code] ?? OTHER),
    ...info,
    ...(error instanceof CaissonError ? { details: detailsOf(error) } : {}),
  };
}

const OWN = new Set(['code', 'message', 'name', 'stack', 'cause', 'remedy', 'retryable', 'status']);

/** What an error has beside its message, as far as it is data. */
function detailsOf(error: CaissonError): Record<string, unknown> {
  const entries = Object.entries(error).filter(([name]) => !OWN.has(name));
  return JSON.parse(JSON.stringify(Object.fromEntries(entries))) as Record<string, unknown>;
}

/** The other way round. */
export function toThrown(answer: unknown): CaissonError {
  const parsed = Problem.safeParse(answer);
  if (!parsed.success)
    return new DaemonGoneError('the daemon gave an answer that cannot be read', parsed.error);
  const { details } = parsed.data;
  if (parsed.data.code === 'TASK_REFUSED' && isRecord(details?.['refusal']))
    return new TaskRefusedError(details['refusal'] as unknown as Refusal);
  return new RemoteError(parsed.data);
}
