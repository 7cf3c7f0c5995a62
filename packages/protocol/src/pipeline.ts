/**
 * Pipeline spec v1: the ordered steps inside a worker.
 *
 * A pipeline is `agent`, `script` and `capture` blocks. The result is written, and the run sealed, after every
 * pipeline by itself: a literal `seal` is refused by name. The host calls {@link parsePipelineSpec}; the worker has read
 * the pipeline with its job and calls {@link checkPipeline}.
 */
import * as z from 'zod/mini';

import { CaissonError } from './errors.ts';

/**
 * What a script checks and what its failure means: `gate` fails the run and `verify` only reports, both in the
 * workspace as the agent left it; `clean-room` reports on the patch alone, in a fresh checkout.
 */
export const ScriptLens = z.enum(['gate', 'verify', 'clean-room']);
export type ScriptLens = z.infer<typeof ScriptLens>;

/** Runs the agent of the run. */
export const AgentBlock = z.strictObject({ kind: z.literal('agent') });
export type AgentBlock = z.infer<typeof AgentBlock>;

/** Runs one shell command of the operator in the sandbox. */
export const ScriptBlock = z.strictObject({
  kind: z.literal('script'),
  command: z.string().check(z.minLength(1), z.maxLength(65_536)),
  timeoutSeconds: z._default(z.int().check(z.gte(1), z.lte(86_400)), 600),
  lens: z._default(ScriptLens, 'gate'),
});
export type ScriptBlock = z.infer<typeof ScriptBlock>;

/** Captures the workspace's patch, or the regular files under `outputs/`. */
export const CaptureBlock = z.strictObject({
  kind: z.literal('capture'),
  what: z.enum(['patch', 'outputs']),
});
export type CaptureBlock = z.infer<typeof CaptureBlock>;

export const Block = z.discriminatedUnion('kind', [AgentBlock, ScriptBlock, CaptureBlock]);
export type Block = z.infer<typeof Block>;

/** `<pack>.<name>`, both kebab-case. */
export const PipelineId = z
  .string()
  .check(z.regex(/^[a-z0-9][a-z0-9-]*\.[a-z0-9][a-z0-9-]*$/), z.maxLength(128));

export const PipelineSpec = z.strictObject({
  schemaVersion: z.literal(1),
  id: PipelineId,
  blocks: z.array(Block).check(z.minLength(1), z.maxLength(64)),
});
export type PipelineSpec = z.infer<typeof PipelineSpec>;
/** What an author writes: defaults may be left out. */

/** The pipeline cannot be run as written. A run that carries it fails `integrity-failed`. */
export class PipelineSpecError extends CaissonError {
  readonly code = 'PIPELINE_INVALID';
}

/** Guards the edge: returns the pipeline with defaults filled in, or throws {@link PipelineSpecError}. */
export function parsePipelineSpec(input: unknown): PipelineSpec {
  refuseLiteralSeal(input);
  const parsed = PipelineSpec.safeParse(input);
  if (!parsed.success) {
    throw new PipelineSpecError(`pipeline is malformed: ${describeIssues(parsed.error.issues)}`, {
      remedy: `Use blocks of kind ${listKinds().join(', ')}; the reference has their fields.`,
    });
  }
  checkPipeline(parsed.data);
  return parsed.data;
}

/** The task is the agent's; and a clean-room check replays a patch that must have been captured before it. */
export function checkPipeline({ blocks }: PipelineSpec): void {
  if (!blocks.some((block) => block.kind === 'agent'))
    throw new PipelineSpecError('pipeline has no agent block, so the task would never run', {
      remedy: 'Add {kind: agent} where the agent or the command should run.',
    });
  const room = blocks.findIndex((block) => block.kind === 'script' && block.lens === 'clean-room');
  if (room === -1) return;
  const patch = blocks.findIndex((block) => block.kind === 'capture' && block.what === 'patch');
  if (patch !== -1 && patch < room) return;
  throw new PipelineSpecError(
    `pipeline block ${room} has lens clean-room, but no patch is captured before it`,
    { remedy: 'Put {kind: capture, what: patch} before the clean-room script.' },
  );
}

/** `agent → capture patch → script verify (if any) → capture outputs`. */
export function createDefaultPipeline(
  options: { verify?: string | { command: string; timeoutSeconds?: number; lens?: ScriptLens } } = {},
): PipelineSpec {
  const blocks: Block[] = [{ kind: 'agent' }, { kind: 'capture', what: 'patch' }];
  if (options.verify !== undefined) blocks.push(createVerifyBlock(options.verify));
  blocks.push({ kind: 'capture', what: 'outputs' });
  return { schemaVersion: 1, id: 'caisson.default', blocks };
}

function createVerifyBlock(
  verify: string | { command: string; timeoutSeconds?: number; lens?: ScriptLens },
): ScriptBlock {
  const given = typeof verify === 'string' ? { command: verify } : verify;
  return ScriptBlock.parse({ kind: 'script', lens: 'verify', ...given });
}

const listKinds = () => Block.def.options.map((block) => block.shape.kind.def.values[0]);

function refuseLiteralSeal(input: unknown): void {
  if (typeof input !== 'object' || input === null || !('blocks' in input)) return;
  if (!Array.isArray(input.blocks)) return;
  const index = input.blocks.findIndex(isSealBlock);
  if (index === -1) return;
  throw new PipelineSpecError(
    `pipeline block ${index} is a literal "seal": the run is sealed by itself after the last block`,
    { remedy: `Remove block ${index} from the pipeline.` },
  );
}

function isSealBlock(block: unknown): boolean {
  if (block === 'seal') return true;
  return typeof block === 'object' && block !== null && 'kind' in block && block.kind === 'seal';
}

function describeIssues(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 5)
    .map((issue) => `${issue.path.map(String).join('.') || 'pipeline'}: ${issue.message}`)
    .join('; ');
}
