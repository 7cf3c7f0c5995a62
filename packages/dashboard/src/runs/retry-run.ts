import type { Client } from '../api/client.ts';

interface Again {
  /** The next task of the same conversation; null repeats the task. */
  readonly text?: string | null;
  readonly task?: string | undefined;
}

/** Dispatches what continues or repeats a run; resolves with the new run's id. */
export async function retryRun(
  client: Client,
  runId: string,
  { text = null, task }: Again = {},
): Promise<string> {
  const changes = task === undefined ? {} : { task };
  const request = await client.send<object>('POST', `/v1/runs/${runId}/continuation`, { text, changes });
  return (await client.send<{ runId: string }>('POST', '/v1/runs', { request })).runId;
}
