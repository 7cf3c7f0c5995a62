import { STEPS, type Failure, type ScriptBlock, type VerifyReport } from '@caisson/protocol';
import { type AttemptContext, fail, StepFailure } from '../../attempt/index.ts';
import { runInCleanRoom } from '../clean-room.ts';
import { joinOutputs, runInSandbox, shorten, type CommandOutcome } from '../../commands/index.ts';
import type { BlockReport } from '../runner.ts';

/** Runs a gate, verify or clean-room command over the agent's work. */
export async function runScriptBlock(
  context: AttemptContext,
  block: ScriptBlock,
  ordinal: number,
): Promise<BlockReport> {
  context.writer.write({ kind: 'progress', phase: 'script', message: `${block.lens}: ${block.command}` });
  const outcome = await runLens(context, block);
  context.writer.write({
    kind: 'script.ran',
    ordinal,
    lens: block.lens,
    command: block.command,
    ...reported(outcome),
  });
  if (outcome.limit !== undefined) return reportLimit(block, outcome, outcome.limit);
  return block.lens === 'gate' ? reportGate(block, outcome) : reportVerify(context, block.lens, outcome);
}

function reported(outcome: CommandOutcome) {
  const { exitCode, timedOut, durationMs, stdout, stderr } = outcome;
  return { exitCode, timedOut, durationMs, stdout: stdout.slice(-16_384), stderr: stderr.slice(-16_384) };
}

function runLens(
  context: AttemptContext,
  { lens, command, timeoutSeconds }: ScriptBlock,
): Promise<CommandOutcome> {
  const timeoutMs = timeoutSeconds * 1000;
  return lens === 'clean-room'
    ? runInCleanRoom(context, command, timeoutMs)
    : runInSandbox(context, { purpose: 'script', command, timeoutMs });
}

/** A limit of the grant ends the run, even if the command otherwise only reports. */
function reportLimit(block: ScriptBlock, outcome: CommandOutcome, limit: Failure): BlockReport {
  return {
    status: 'failed',
    ...exitOf(outcome),
    failure: new StepFailure({
      ...limit,
      detail: `${block.lens} \`${block.command}\`: ${limit.detail}`,
      step: STEPS.pipeline,
    }),
  };
}

function reportGate(block: ScriptBlock, outcome: CommandOutcome): BlockReport {
  if (outcome.exitCode === 0 && !outcome.timedOut) return { status: 'ok', exitCode: 0 };
  const what = outcome.timedOut
    ? `did not end within ${block.timeoutSeconds} s`
    : `exited with ${outcome.exitCode ?? 'a signal'}`;
  return {
    status: outcome.timedOut ? 'timeout' : 'failed',
    ...exitOf(outcome),
    failure: gateFailure(block, what, outcome),
  };
}

function gateFailure(block: ScriptBlock, what: string, outcome: CommandOutcome): StepFailure {
  const tail = (outcome.stderr || outcome.stdout).trim().slice(-2000);
  return fail('provider-failed', `gate \`${block.command}\` ${what}${tail === '' ? '' : `:\n${tail}`}`, {
    cause: 'gate',
    step: 'pipeline',
  });
}

function reportVerify(
  context: AttemptContext,
  lens: 'verify' | 'clean-room',
  outcome: CommandOutcome,
): BlockReport {
  const passed = outcome.exitCode === 0 && !outcome.timedOut;
  // A check that was stopped says nothing about the work.
  if (!passed && context.control.stop.aborted) return { status: 'reported', ...exitOf(outcome) };
  const report = joinOutputs(outcome.stdout, outcome.stderr, MAX_REPORT_CHARACTERS);
  context.gathered.verify = together(context.gathered.verify, {
    passed,
    report,
    durationMs: outcome.durationMs,
    lens,
  });
  context.writer.write({ kind: 'verify.ran', passed, durationMs: outcome.durationMs });
  return { status: passed ? 'ok' : 'reported', ...exitOf(outcome) };
}

function exitOf({ exitCode }: CommandOutcome): { exitCode?: number } {
  return exitCode === null ? {} : { exitCode };
}

const MAX_REPORT_CHARACTERS = 262_144;

/** A later check that passes does not cancel an earlier failure. If all passed, the weakest lens counts. */
function together(earlier: VerifyReport | undefined, report: VerifyReport): VerifyReport {
  if (earlier === undefined) return report;
  const weakest = [earlier, report].some(({ lens }) => lens === 'verify') ? 'verify' : 'clean-room';
  return {
    passed: earlier.passed && report.passed,
    report: shorten(`${earlier.report}\n${report.report}`, MAX_REPORT_CHARACTERS),
    durationMs: earlier.durationMs + report.durationMs,
    lens: !earlier.passed ? earlier.lens : report.passed ? weakest : report.lens,
  };
}
