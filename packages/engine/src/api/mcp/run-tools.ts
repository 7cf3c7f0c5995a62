/** Tools that look at one run and change nothing. */
import { definedOnly } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { McpBench, McpTool } from './contract.ts';
import { cutEnd, pageOf } from './data-text.ts';
import { findRun } from './find-run.ts';
import { described, parseInput, runName } from './input.ts';
import { viewRun } from './run-view.ts';
import { waitForRun } from './wait-for-run.ts';

/** Clients cut or refuse answers of more than about 25,000 tokens. */
const MAX_PATCH = 48_000;
const MAX_FILES = 200;
/** Some clients give up on a call after a minute. */
const DEFAULT_WAIT_SECONDS = 45;
const MAX_WAIT_SECONDS = 600;
const TASK_WAIT_SECONDS = 86_400;

const StatusInput = z.strictObject({ run: runName() });
const WaitInput = z.strictObject({
  run: runName(),
  timeoutSeconds: described(
    z.optional(z.number().check(z.gte(0), z.lte(MAX_WAIT_SECONDS))),
    `How long to wait, at most ${MAX_WAIT_SECONDS}; default ${DEFAULT_WAIT_SECONDS}, as a task until the run has ended.`,
  ),
});
const DiffInput = z.strictObject({
  run: runName(),
  filesOnly: described(z.optional(z.boolean()), 'Only the files, with the lines each gained and lost.'),
  offset: described(
    z.optional(z.int().check(z.nonnegative())),
    'Where to go on in a long patch: nextOffset of the part before.',
  ),
});

export function statusTool({ project, bounds }: McpBench): McpTool {
  return {
    name: 'status',
    description:
      'How a run stands: what it does, what it waits for, or how it ended, with its reply and cost.',
    input: StatusInput,
    isReadOnly: true,
    run: (input) =>
      project.read(async (caisson) => {
        const row = await findRun(caisson, bounds, parseInput(StatusInput, input).run);
        return viewRun(row, await caisson.show(row.runId));
      }),
  };
}

export function waitTool(bench: McpBench): McpTool {
  return {
    name: 'wait',
    description:
      'Wait until a run has ended or the time is over, and return its status. Call it again while isEnded is false.',
    input: WaitInput,
    isReadOnly: true,
    canBeTask: true,
    run(input, call) {
      const { run, timeoutSeconds } = parseInput(WaitInput, input);
      const seconds = timeoutSeconds ?? (call.isTask ? TASK_WAIT_SECONDS : DEFAULT_WAIT_SECONDS);
      return waitForRun(bench, run, seconds * 1000, call);
    },
  };
}

export function diffTool({ project, bounds }: McpBench): McpTool {
  return {
    name: 'diff',
    description: 'The patch of an ended run, also of one that failed, in parts if it is long.',
    input: DiffInput,
    isReadOnly: true,
    run: (input) =>
      project.read(async (caisson) => {
        const { run, filesOnly = false, offset = 0 } = parseInput(DiffInput, input);
        const { runId } = await findRun(caisson, bounds, run);
        const patch = await caisson.patch(runId);
        const { text: all, files } = project.describePatch(patch);
        const page = pageOf(all, offset, MAX_PATCH);
        return {
          runId,
          bytes: patch.length,
          fileCount: files.length,
          files: files.slice(0, MAX_FILES).map((file) => ({ ...file, path: cutEnd(file.path, 1000) })),
          ...(filesOnly ? {} : definedOnly({ patch: page.text, nextOffset: page.nextOffset ?? undefined })),
        };
      }),
  };
}
