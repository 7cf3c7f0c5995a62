/** What must be true of a run whose daemons were killed: it went on, its model was not cut off, and all of it is there once. */
import type { ModelServer } from '@caisson/testkit';
import type { StoredEvent } from '../../../../packages/engine/src/ledger/index.ts';
import type { Stage } from '../contract.ts';
import { checkAll } from './check-all.ts';
import { verifies } from './proof.ts';

interface Adopted {
  readonly stage: Stage;
  readonly model: ModelServer;
  /** Whether the agent was at work when the first daemon was killed, or a later one. */
  readonly hadBegun: boolean;
}

export async function judgeAdopted({ stage, model, hadBegun }: Adopted): Promise<string[]> {
  const aftermath = { stage, cli: [], losesUnsynced: false };
  return [
    ...findLost(stage, hadBegun),
    ...findHoles(stage),
    ...findRepeated(stage),
    ...findRepeatedLines(stage.ledger().read()),
    ...findCut(model),
    ...(await checkAll(aftermath, { isBrief: true })),
    ...(await verifies.check(aftermath)).map((problem) => `${verifies.name}: ${problem}`),
  ];
}

/** An agent that was at work goes on to its end, however many daemons it has. */
function findLost(stage: Stage, hadBegun: boolean): string[] {
  return stage
    .ledger()
    .runs()
    .filter(({ status }) => hadBegun && status !== 'done')
    .map(({ runId, status }) => `goes-on: ${runId} is ${status}, and its agent was at work`);
}

function findHoles(stage: Stage): string[] {
  return stage
    .ledger()
    .runs()
    .filter(({ runId }) =>
      stage
        .ledger()
        .read({ runId })
        .some(({ seq }, index) => seq !== index + 1),
    )
    .map(({ runId }) => `numbers: those of ${runId} have a hole`);
}

const ONCE = ['dispatch.accepted', 'dispatch.started', 'runtime.adapter.ran', 'evidence.sealed'] as const;

function findRepeated(stage: Stage): string[] {
  const runs = stage.ledger().runs();
  const more = ONCE.filter((type) => stage.ledger().read({ types: [type] }).length > runs.length);
  const decided = stage.ledger().read({ types: ['approval.decided'] });
  const asked = stage.ledger().read({ types: ['approval.requested'] });
  const ended = stage
    .ledger()
    .read({ types: ['tool.ended'] })
    .map(({ data }) => data.callId);
  return [
    ...(runs.length === 1 ? [] : [`once: there are ${runs.length} runs`]),
    ...more.map((type) => `once: there is more than one ${type}`),
    ...(decided.length === asked.length
      ? []
      : [`once: ${asked.length} approvals, ${decided.length} decisions`]),
    ...(new Set(ended).size === ended.length ? [] : ['once: a call has ended twice']),
  ];
}

/**
 * A line of a worker is one event, whatever its kind and however many daemons have read it: its number is used once, and no
 * other event says the same at the same time.
 */
export function findRepeatedLines(events: readonly LineEvent[]): string[] {
  const lines = events.filter(({ id }) => id.startsWith('line:'));
  const ids = new Set(lines.map(({ id }) => id));
  const says = ({ runId, type, attempt, at, data }: LineEvent): string =>
    JSON.stringify([runId, type, attempt, at, data]);
  const said = new Set(lines.map((event) => says(event)));
  return [
    ...(ids.size === lines.length ? [] : ['once: a line of the worker is there twice']),
    ...events
      .filter((event) => !event.id.startsWith('line:') && said.has(says(event)))
      .map(({ type }) => `once: ${type} of the worker is there again, by another way`),
  ];
}

type LineEvent = Pick<StoredEvent, 'id' | 'runId' | 'type' | 'attempt' | 'at' | 'data'>;

/** Each answer has one token, which counts when it was sent to its end. Who never got its `go` has asked for nothing. */
export function findCut({ modelRequests, usage }: Pick<ModelServer, 'modelRequests' | 'usage'>): string[] {
  const [asked, answered] = [modelRequests().length, usage().outputTokens];
  return asked === answered ? [] : [`not-cut-off: ${asked} requests, ${answered} whole answers`];
}
