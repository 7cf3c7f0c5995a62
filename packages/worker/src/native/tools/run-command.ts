// Loaded with the first command: it is not needed for a model request.

import { definedOnly } from '@caisson/protocol';
import { runBounded, type BoundedCommandResult } from '@caisson/ground';
import type { ToolPlace } from './native-tool.ts';

const MAX_OUTPUT_BYTES = 1 << 20;

/** Runs one program in the workspace, bounded in time and output. */
export function runCommand(
  place: ToolPlace,
  file: string,
  args: readonly string[],
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<BoundedCommandResult> {
  return runBounded({
    file,
    args,
    cwd: place.workspace,
    env: place.env,
    timeoutMs,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    ...definedOnly({ signal }),
  });
}
