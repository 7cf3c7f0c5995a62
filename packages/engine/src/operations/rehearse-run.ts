/** Whether the first run of a project would be refused, found out before its state folder is made. */
import type { DispatchRequest } from '../admission/index.ts';
import type { ResolvedConfig } from '../config/index.ts';
import { requireTrust } from '../composition/trusted-config.ts';
import { inspectStateFolder } from '../trust/index.ts';

/**
 * Throws what a run would be refused with, and leaves nothing behind. Does nothing where there is a state folder already:
 * admission decides there, and records its refusal.
 */
export async function rehearseRun(request: DispatchRequest, config: ResolvedConfig): Promise<void> {
  if (inspectStateFolder(config).kind !== 'absent') return;
  await requireTrust(config);
  const { openRehearsal, rehearse, withScratchFolder } = await import('../composition/in-process.ts');
  await withScratchFolder((scratch) => rehearse(openRehearsal(config, scratch), request));
}
