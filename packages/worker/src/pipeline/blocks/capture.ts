import { createHash } from 'node:crypto';
import { lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  capturePatch,
  createGit,
  proveApplies,
  TooManyOversizedError,
  withoutChanges,
  type ForbiddenChange,
  type TreeChange,
} from '@caisson/ground';
import type { CaptureBlock, OutputFile } from '@caisson/protocol';
import { deny, type AttemptContext, fail } from '../../attempt/index.ts';
import { loadHides } from '../../steps/index.ts';
import { putAside, putBack } from '../created-controls.ts';
import type { BlockReport } from '../runner.ts';
import { judgeCapture, judgeHidden } from './forbidden-changes.ts';
import { listOutputs, readOutput, type OutputEntry } from './list-outputs.ts';

const MAX_OUTPUTS = 256;
const MAX_OUTPUT_BYTES = 100 * 1024 * 1024;
const MAX_OUTPUTS_BYTES = 1024 * 1024 * 1024;

/**
 * Captures results from the workspace; of several captures the last one counts. What cannot be proven to apply is not
 * reported as success.
 */
export async function runCaptureBlock(context: AttemptContext, block: CaptureBlock): Promise<BlockReport> {
  context.writer.write({ kind: 'progress', phase: 'capture', message: block.what });
  return block.what === 'patch' ? capturePatchOrWarn(context) : captureOutputs(context);
}

async function capturePatchOrWarn(context: AttemptContext): Promise<BlockReport> {
  try {
    return await captureWorkspacePatch(context);
  } catch (error) {
    if (!(error instanceof TooManyOversizedError)) throw error;
    return invalid(`no patch was captured: ${error.message} ${error.remedy ?? ''}`);
  }
}

async function captureWorkspacePatch(context: AttemptContext): Promise<BlockReport> {
  const { workspace } = context.job;
  const source = {
    workspace: workspace.path,
    gitDir: workspace.gitDir,
    baselineTree: workspace.baselineTree,
    limits: workspace.limits,
    hides: await loadHides(context.job),
  };
  const exclude = [...workspace.exclude];
  const captured = await capturePatch({ ...source, exclude });
  const { forbidden, risky } = await judgeCapture(context, captured);
  for (const change of forbidden) await holdBack(context, change);
  for (const denial of await judgeHidden(context, captured)) deny(context, denial);
  const final = await withoutChanges(
    { ...source, exclude },
    captured,
    forbidden.map(({ change }) => change),
  );
  delete context.gathered.patchRef;
  delete context.gathered.risky;
  if (!final.empty) {
    const { gitDir, baselineTree } = workspace;
    if (!(await proveApplies({ gitDir, baselineTree, patch: final.patch, tree: final.tree }))) {
      const detail = 'the captured patch does not restore the captured tree';
      return { status: 'failed', failure: fail('output-invalid', detail, { step: 'pipeline' }) };
    }
    context.gathered.patchRef = context.captures.put(final.patch);
    if (risky.length > 0) context.gathered.risky = risky;
    warnOfSecrets(context, final.patch);
  }
  context.writer.write({
    kind: 'capture.done',
    what: 'patch',
    files: final.files.length,
    bytes: final.patch.length,
  });
  return { status: 'ok' };
}

/** In the user's own folder a change is already there: it is moved aside, and the old content is restored. */
async function holdBack(context: AttemptContext, forbidden: ForbiddenChange): Promise<void> {
  const { workspace, grant } = context.job;
  const { path, rule, why, isNew, isRuled, change } = forbidden;
  if (workspace.kind === 'in-place' && !isRuled && isNew && !leadsToProgram(join(workspace.path, path)))
    return putAside(context, path, why);
  if (workspace.kind === 'in-place' && rule === 'risky-file' && grant.sandbox !== 'none')
    return putBack(context, path, why, await readOld(context, change));
  deny(context, { layer: 'patch', what: `${path} ${why} and was left out of the patch`, rule });
}

async function readOld({ job }: AttemptContext, { oldId }: TreeChange): Promise<Buffer> {
  const { gitDir } = job.workspace;
  return (await createGit({ cwd: gitDir, gitDir }).run(['cat-file', 'blob', oldId])).stdout;
}

/** A virtual environment of Python links to the machine's own programs; in the user's folder it must stay usable. */
function leadsToProgram(path: string): boolean {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && /^\/(usr|bin|lib\w*|opt|nix\/store)\/(?!.*(^|\/)\.\.(\/|$))/.test(readlinkSync(path));
}

/** The patch is the work, byte for byte, so nothing is removed from it; but the user should know before applying it. */
function warnOfSecrets({ redactor, writer }: AttemptContext, patch: Buffer): void {
  if (redactor.redactBytes(patch).equals(patch)) return;
  const message = 'the patch contains a secret of the agent; check it before you apply or share it';
  writer.write({ kind: 'warning', source: 'secrets', message });
}

async function captureOutputs(context: AttemptContext): Promise<BlockReport> {
  try {
    return takeOutputs(context);
  } catch (error) {
    // An agent may remove the rights to its own files; that is no fault of the worker.
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    return invalid(`outputs/ cannot be read: ${error.message}`);
  }
}

function invalid(detail: string): BlockReport {
  return { status: 'failed', failure: fail('output-invalid', detail, { step: 'pipeline' }) };
}

function takeOutputs(context: AttemptContext): BlockReport {
  const root = join(context.job.workspace.path, 'outputs');
  const files = listOutputs(root);
  if (files === null || files.length > MAX_OUTPUTS) {
    const held = files === null ? 'too many entries to list' : `${files.length} files`;
    return invalid(`outputs/ has ${held}; at most ${MAX_OUTPUTS} files are captured`);
  }
  for (const file of files) {
    if (file.size > MAX_OUTPUT_BYTES) {
      return invalid(`outputs/${file.path} has ${file.size} bytes; at most ${MAX_OUTPUT_BYTES} are captured`);
    }
  }
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > MAX_OUTPUTS_BYTES) {
    return invalid(`outputs/ has ${total} bytes; at most ${MAX_OUTPUTS_BYTES} are captured together`);
  }
  const outputs = files.map((file) => takeOutput(context, root, file));
  context.gathered.outputs = outputs;
  const bytes = outputs.reduce((sum, output) => sum + output.size, 0);
  context.writer.write({ kind: 'capture.done', what: 'outputs', files: outputs.length, bytes });
  return { status: 'ok' };
}

function takeOutput(context: AttemptContext, root: string, file: OutputEntry): OutputFile {
  const bytes = context.redactor.redactBytes(readOutput(root, file));
  const ref = createHash('sha256').update(bytes).digest('hex');
  context.captures.put(bytes);
  return { path: `outputs/${file.path}`, ref, size: bytes.length };
}
