/**
 * The worker's result. Only a file with this run, this attempt and this nonce is accepted; an agent cannot know the
 * nonce, so nothing it plants can be mistaken for a result.
 */
import { isErrno, readFileCapped } from '@caisson/ground';
import { Result } from '@caisson/protocol';
import type { MayPass } from './passing-failure.ts';

const MAX_RESULT_BYTES = 64 * 1024 * 1024;

export type FoundResult =
  | { readonly kind: 'valid'; readonly result: Result; readonly bytes: Buffer }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly why: string };

export async function readResult(
  path: string,
  expected: { runId: string; attempt: number; nonce: string },
  mayPass: MayPass,
): Promise<FoundResult> {
  let bytes: Buffer;
  try {
    bytes = await readFileCapped(path, MAX_RESULT_BYTES);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { kind: 'absent' };
    if (mayPass(error)) throw error;
    return { kind: 'refused', why: (error as Error).message };
  }
  return judge(bytes, expected);
}

function judge(bytes: Buffer, expected: { runId: string; attempt: number; nonce: string }): FoundResult {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    return { kind: 'refused', why: 'the result file is not JSON' };
  }
  const parsed = Result.safeParse(value);
  if (!parsed.success)
    return { kind: 'refused', why: `the result file is malformed: ${parsed.error.issues[0]?.message ?? ''}` };
  const { runId, attempt, nonce } = parsed.data;
  const isOurs = runId === expected.runId && attempt === expected.attempt && nonce === expected.nonce;
  return isOurs
    ? { kind: 'valid', result: parsed.data, bytes }
    : { kind: 'refused', why: 'the result file is of another run, attempt or nonce' };
}
