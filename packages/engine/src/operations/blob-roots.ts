/** Which blobs may still be needed. */
import { shareTurn } from '@caisson/ground';
import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { listSealedArtefacts } from '../evidence/index.ts';
import type { StoredEvent } from '../ledger/index.ts';
import { DigestSet, toProblem, type BlobProblem } from '../store/index.ts';
import { rememberForgotten } from './run-forgotten.ts';
import { listNamedBlobs, listResultBlobs, type NeededBlob } from './run-blobs.ts';

/** Admission stores resolved names just before the run is accepted. */
const START_MARGIN_MS = 60_000;

/** The event loop is free after so many events. */
const EVENTS_IN_TURN = 256;

type Rooms = Pick<Engine, 'ledger' | 'store' | 'registry' | 'clock'>;

/** Called with each blob that must exist, once, with the first run that needs it; progress is counted in events. */
export interface SurveyOptions {
  onNeeded?(blob: NeededBlob): Promise<void>;
  onProgress?(done: number, total: number): void;
}

/** An open run's blobs are named by an event only at its end: nothing younger than the run is removed. */
export function ageOfOldestOpenRun({ ledger, clock }: Rooms): number {
  const [oldest] = ledger.runs({ status: ['queued', 'running'], limit: 1 });
  if (oldest === undefined) return 0;
  const ageMs = clock.wallMs() - Date.parse(oldest.acceptedAt);
  // The clock was set back since: no file's time proves any more that it is older than the run.
  return ageMs < 0 ? Infinity : ageMs + START_MARGIN_MS;
}

/**
 * Called before a survey; afterwards it says how old a blob must be at least to be removed. What was put since the survey
 * began may be of a run that ended behind it.
 */
export function startGrace(rooms: Rooms): () => number {
  const [ageMs, startedMs] = [ageOfOldestOpenRun(rooms), rooms.clock.wallMs()];
  return () => ageMs + rooms.clock.wallMs() - startedMs;
}

/** Takes what a survey finds. */
export interface FoundRoots {
  /** Every digest that may still be needed, and some that are not of a blob. */
  add(digest: string): void;
  /** What must exist; false when it was found before. */
  need(digest: string): boolean;
}

export interface BlobSurvey {
  /** The roots that are bundles. */
  readonly bundles: ReadonlySet<string>;
  /** False when a damaged result may name blobs that are not among the roots: then none may be removed. */
  readonly isComplete: boolean;
}

/**
 * Everything a run that is not forgotten may need again: what its events name (request, patch, result, manifest,
 * envelope, resolved names), what its result names (reply, logs, outputs), and every version in the registry. The seal
 * names it if the result is damaged. The ledger is walked through, and nothing of a blob is kept here.
 */
export async function surveyBlobs(
  rooms: Pick<Rooms, 'ledger' | 'store' | 'registry'>,
  roots: FoundRoots,
  { onNeeded, onProgress }: SurveyOptions = {},
): Promise<BlobSurvey> {
  const { ledger, store, registry } = rooms;
  const survey = new Survey(roots);
  const total = ledger.lastOffset();
  const report = async (): Promise<void> => {
    for (const blob of survey.takeNew()) await onNeeded?.(blob);
  };
  for (const { hash, kind, name } of await registry.listVersions()) {
    const isBundle = kind === 'capabilities';
    survey.need({ digest: hash, runId: null, what: `${kind}/${name}`, ...(isBundle ? { isBundle } : {}) });
  }
  const isGone = rememberForgotten(rooms);
  for (const event of ledger.walk()) {
    if (event.runId === null || !isGone(event.runId)) await survey.addEvent(store, event);
    await report();
    onProgress?.(event.offset, total);
    if (event.offset % EVENTS_IN_TURN === 0) await shareTurn();
  }
  await report();
  for (const entry of ledger.kv.list('roots')) roots.add(entry.key);
  return survey;
}

/** The blobs of one run: its request, its result, its outputs and its evidence. */
export async function listOwnBlobs({ ledger, store }: Rooms, runId: string): Promise<DigestSet> {
  const own = new DigestSet();
  const survey = new Survey({ add: (digest) => void own.add(digest), need: (digest) => own.add(digest) });
  for (const event of ledger.read({ runId })) await survey.addEvent(store, event, ['resolved']);
  return own;
}

class Survey implements BlobSurvey {
  readonly bundles = new Set<string>();
  readonly #roots: FoundRoots;
  #new: NeededBlob[] = [];
  /** Runs whose result cannot be read, until their seal says what it names. */
  readonly #unread = new Map<string | null, BlobProblem['kind']>();

  constructor(roots: FoundRoots) {
    this.#roots = roots;
  }

  /** What a missing result names cannot be found any more. */
  get isComplete(): boolean {
    return [...this.#unread.values()].every((kind) => kind === 'missing');
  }

  need(blob: NeededBlob): void {
    if (blob.isBundle === true) this.bundles.add(blob.digest);
    if (this.#roots.need(blob.digest)) this.#new.push(blob);
  }

  /** What was not needed before, and is not taken yet. */
  takeNew(): readonly NeededBlob[] {
    const taken = this.#new;
    this.#new = [];
    return taken;
  }

  /** `foreign`: fields that name what belongs to others. */
  async addEvent(store: Rooms['store'], event: StoredEvent, foreign: readonly string[] = []): Promise<void> {
    // A seal names the one before it, which belongs to another run and is kept or forgotten with that run.
    const left = new Set(['chain', ...foreign]);
    const own = JSON.stringify(Object.entries(event.data).filter(([field]) => !left.has(field)));
    const named = this.#addNamed(own);
    for (const blob of listNamedBlobs(event)) if (named.has(blob.digest)) this.need(blob);
    // Of every event, also of one that a newer version wrote: what it names must not be removed.
    const { resultRef, envelopeRef }: Readonly<Record<string, unknown>> = event.data;
    if (typeof resultRef === 'string') await this.#addResult(store, event.runId, resultRef);
    if (typeof envelopeRef === 'string' && this.#unread.has(event.runId))
      await this.#addSealed(store, event.runId, envelopeRef);
  }

  /** Everything in the text that has the form of a digest. */
  #addNamed(text: string): ReadonlySet<string> {
    const named = new Set(text.match(/\b[0-9a-f]{64}\b/g));
    for (const digest of named) this.#roots.add(digest);
    return named;
  }

  async #addResult(store: Rooms['store'], runId: string | null, digest: string): Promise<void> {
    try {
      const bytes = await store.getBlob(digest);
      this.#addNamed(bytes.toString('utf8'));
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
