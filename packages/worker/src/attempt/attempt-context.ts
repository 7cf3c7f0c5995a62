import type { lookAtMailbox } from './mailbox-before.ts';
import type { Redactor, SandboxProcess } from '@caisson/ground';
import type {
  BlockOutcome,
  Denial,
  Failure,
  AgentHandoff,
  FoundHandoff,
  Job,
  ListedRisk,
  NeedsInput,
  OutputFile,
  VerifyReport,
} from '@caisson/protocol';
import { openCaptures, type Captures } from './captures.ts';
import type { Control } from './control.ts';
import { createMeter, type Meter } from './meter.ts';
import type { AttemptNetwork } from '../network/index.ts';
import type { RuntimeDriver } from '../runtimes/index.ts';
import type { LineWriter } from './line-writer.ts';
import { openAttachedOutput, type AttachedOutput } from './attached-output.ts';

/** The results of the pipeline so far; the last step turns them into the result. */
export interface Gathered {
  reply: string;
  exitCode: number | null;
  patchRef?: string;
  /** Changes of the patch that a person is asked about. */
  risky?: ListedRisk[];
  outputs: OutputFile[];
  verify?: VerifyReport;
  needsInput?: NeedsInput;
  handoff?: FoundHandoff;
  /** What the agent said with the tool `hand_off`, in order. */
  handedOff: AgentHandoff[];
  blocks: BlockOutcome[];
  denials: Denial[];
  enforced: Record<string, unknown>;
  logs?: { stdout: { bytes: Buffer; truncated: boolean }; stderr: { bytes: Buffer; truncated: boolean } };
  sessionId?: string;
  /** What ended the agent early, if we know more than its exit code. */
  limit?: Failure;
}

export function createGathered(): Gathered {
  const nothing = { outputs: [], blocks: [], denials: [], handedOff: [], enforced: {} };
  return { reply: '', exitCode: null, ...nothing };
}

/** Everything the steps of one attempt share. */
export interface AttemptContext {
  readonly job: Job;
  readonly writer: LineWriter;
  readonly control: Control;
  readonly redactor: Redactor;
  readonly captures: Captures;
  readonly meter: Meter;
  readonly gathered: Gathered;
  readonly path: string;
  /** Null if no person reads along. */
  readonly attached: AttachedOutput | null;
  driver: RuntimeDriver | null;
  /** Whether a file of the mailbox was there before the agent began, and is as it was. */
  isFromBefore: ReturnType<typeof lookAtMailbox>;
  /** The way out of the sandbox; null before it is open, and where there is none. */
  network: AttemptNetwork | null;
  /** The conversation that the agent continues; `undefined` once it was found to be missing. */
  resume: Job['resume'];
  env: Record<string, string>;
  /** The process in the sandbox now; killed at once when the host is gone. */
  running: SandboxProcess | null;
  /** The operator's script that is running, if one is. */
  script: string | null;
  /** What everything in the sandbox has printed so far. */
  printedBytes: number;
  /** Tool calls that wait for a person now. */
  heldCalls: number;
  /** Requests to the host that have no answer yet, by their id, with the monotonic time at which they were made. */
  readonly openRequests: Map<string, number>;
}

export function createAttemptContext(options: {
  job: Job;
  writer: LineWriter;
  control: Control;
  redactor: Redactor;
  path: string;
}): AttemptContext {
  return {
    ...options,
    captures: openCaptures(options.job.paths.captures),
    meter: createMeter(),
    gathered: createGathered(),
    attached: options.job.attached?.output === true ? openAttachedOutput(options.control.stop) : null,
    driver: null,
    isFromBefore: () => false,
    network: null,
    resume: options.job.resume,
    env: {},
    running: null,
    script: null,
    printedBytes: 0,
    heldCalls: 0,
    openRequests: new Map(),
  };
}

const MAX_DENIALS = 256;

/** Records what a layer stopped, and reports it to the host. Beyond a limit, denials are reported once. */
export function deny(context: AttemptContext, denial: Denial): void {
  const { denials } = context.gathered;
  if (denials.length >= MAX_DENIALS) return;
  denials.push(denial);
  context.writer.write({ kind: 'policy.denied', denial });
  if (denials.length < MAX_DENIALS) return;
  const message = `${MAX_DENIALS} denials are recorded; further calls are denied without a record`;
  context.writer.write({ kind: 'warning', source: 'policy', message });
}
