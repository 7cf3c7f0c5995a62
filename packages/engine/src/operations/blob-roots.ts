/** Which blobs may still be needed. */
import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { listSealedArtefacts } from '../evidence/index.ts';
import type { StoredEvent } from '../ledger/index.ts';
import { toProblem, type BlobProblem } from '../store/index.ts';
import { listForgotten } from './run-forgotten.ts';
import { listNamedBlobs, listResultBlobs, type NeededBlob } from './run-blobs.ts';

/** Admission stores resolved names just before the run is accepted. */
const START_MARGIN_MS = 60_000;

type Rooms = Pick<Engine, 'ledger' | 'store' | 'registry' | 'clock'>;

/** An open run's blobs are named by an event only at its end: nothing younger than the run is removed. */
export function ageOfOldestOpenRun({ ledger, clock }: Rooms): number {
  const [oldest] = ledger.runs({ status: ['queued', 'running'] });
  if (oldest === undefined) return 0;
  const ageMs = clock.wallMs() - Date.parse(oldest.acceptedAt);
  // The clock was set back since: no file's time proves any more that it is older than the run.
  return ageMs < 0 ? Infinity : ageMs + START_MARGIN_MS;
}

/** The blobs in the store that are needed. */
export interface BlobSurvey {
  /** Every digest that may still be needed, and some that are not of a blob. */
  readonly roots: ReadonlySet<string>;
  /** The roots that are bundles. */
  readonly bundles: ReadonlySet<string>;
  /** What must exist, each with the first run that needs it. */
  readonly needed: ReadonlyMap<string, NeededBlob>;
  /** False when a damaged result may name blobs that are not among the roots: then none may be removed. */
  readonly isComplete: boolean;
}

/**
 * Everything a run that is not forgotten may need again: what its events name (request, patch, result, manifest,
 * envelope, resolved names), what its result names (reply, logs, outputs), and every version in the registry. The seal
 * names it if the result is damaged.
 */
export async function surveyBlobs(rooms: Pick<Rooms, 'ledger' | 'store' | 'registry'>): Promise<BlobSurvey> {
  const { ledger, store, registry } = rooms;
  const survey = new Survey();
  for (const { hash, kind, name } of await registry.listVersions()) {
    const isBundle = kind === 'capabilities';
    survey.need({ digest: hash, runId: null, what: `${kind}/${name}`, ...(isBundle ? { isBundle } : {}) });
  }
  const forgotten = listForgotten(rooms);
  for (const event of ledger.read())
    if (event.runId === null || !forgotten.has(event.runId)) await survey.addEvent(store, event);
  for (const entry of ledger.kv.list('roots')) survey.roots.add(entry.key);
  return survey;
}

/** The blobs of one run: its request, its result, its outputs and its evidence. */
export async function listOwnBlobs({ ledger, store }: Rooms, runId: string): Promise<ReadonlySet<string>> {
  const survey = new Survey();
  for (const event of ledger.read({ runId })) await survey.addEvent(store, event, ['resolved']);
  return survey.roots;
}

class Survey implements BlobSurvey {
  readonly roots = new Set<string>();
  readonly bundles = new Set<string>();
  readonly needed = new Map<string, NeededBlob>();
  /** Runs whose result cannot be read, until their seal says what it names. */
  readonly #unread = new Map<string | null, BlobProblem['kind']>();

  /** What a missing result names cannot be found any more. */
  get isComplete(): boolean {
    return [...this.#unread.values()].every((kind) => kind === 'missing');
  }

  need(blob: NeededBlob): void {
    this.roots.add(blob.digest);
    if (blob.isBundle === true) this.bundles.add(blob.digest);
    if (!this.needed.has(blob.digest)) this.needed.set(blob.digest, blob);
  }

  /** `foreign`: fields that name what belongs to others. */
  async addEvent(store: Rooms['store'], event: StoredEvent, foreign: readonly string[] = []): Promise<void> {
    // A seal names the one before it, which belongs to another run and is kept or forgotten with that run.
    const left = new Set(['chain', ...foreign]);
    const own = JSON.stringify(Object.entries(event.data).filter(([field]) => !left.has(field)));
    for (const [digest] of own.matchAll(/\b[0-9a-f]{64}\b/g)) this.roots.add(digest);
    for (const blob of listNamedBlobs(event)) if (this.roots.has(blob.digest)) this.need(blob);
    // Of every event, also of one that a newer version wrote: what it names must not be removed.
    const { resultRef, envelopeRef }: Readonly<Record<string, unknown>> = event.data;
    if (typeof resultRef === 'string') await this.#addResult(store, event.runId, resultRef);
    if (typeof envelopeRef === 'string' && this.#unread.has(event.runId))
      await this.#addSealed(store, event.runId, envelopeRef);
  }

  async #addResult(store: Rooms['store'], runId: string | null, digest: string): Promise<void> {
    try {
      const bytes = await store.getBlob(digest);
      for (const [named] of bytes.toString('utf8').matchAll(/\b[0-9a-f]{64}\b/g)) this.roots.add(named);
      for (const blob of listResultBlobs(runId, bytes)) this.need(blob);
    } catch (error) {
      this.#unread.set(runId, toProblem(digest, error).kind);
    }
  }

  async #addSealed(store: Rooms['store'], runId: string | null, envelopeRef: string): Promise<void> {
    try {
      for (const { digest, name } of listSealedArtefacts(await store.getBlob(envelopeRef)))
        this.need({ digest, runId, what: name });
      this.#unread.delete(runId);
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
    }
  }
}
