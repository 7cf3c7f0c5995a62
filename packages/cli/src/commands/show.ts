import type { Caisson } from '@caisson/engine';
import type { DispatchResult } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatRun } from '../format-run.ts';
import { formatStatus } from '../format-status.ts';
import { printWarnings } from '../print-warnings.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[RUN]',
  about:
    'RUN is a run id, a unique beginning or ending of one (run_ may be left out), or "latest", which is meant if it is left out.',
  options: {},
  positionals: { min: 0, max: 1 },
  examples: [
    {
      line: 'caisson show',
      says: 'What was asked, what ran, what happened, what came out and what it cost.',
    },
    { line: 'caisson show latest -o json', says: 'The dispatch result.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      printWarnings(caisson, output);
      const runId = positionals[0] ?? 'latest';
      const result = await caisson.show(runId);
      const events = await caisson.events(result.runId);
      const view = {
        style: output.style,
        columns: output.wrapColumns(),
        status: await findStatus(caisson, result),
      };
      output.result(result, () => formatRun(result, events, view));
      return EXIT_CODES.finished;
    }),
});

/** What `runs` says of a run that has not begun. */
async function findStatus(caisson: Caisson, { runId, status }: DispatchResult): Promise<string> {
  if (status !== 'queued') return status;
  const [listed] = await caisson.runs({ ids: [runId] });
  return listed === undefined ? status : formatStatus(listed);
}
