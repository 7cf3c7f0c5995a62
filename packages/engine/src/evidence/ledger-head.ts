/**
 * The newest seal of each ledger, kept outside its state folder: a process that can write only there cannot remove the
 * newest run, or put an older copy of the ledger in its place, without being noticed. No seal waits for the disk: a
 * head that a power cut sets back is an older seal of the same ledger, and still found in it; one whose bytes it took (an
 * empty file) is no head, until the next seal. What a person accepts is synced, and so is a note of several ledgers.
 *
 * A ledger that takes the place of another one is noted beside it: the store still has the files of the runs of both.
 * Only a person's acceptance ends that.
 *
 *   <folder>/<sha256 of the state folder's real path>.json
 */
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { makeFolder, writeFileAtomicSync, removeFileSync } from '@caisson/ground';
import { definedOnly, Sha256 } from '@caisson/protocol';
import * as z from 'zod/mini';

import { canonicalJson, findLedgerId, type Ledger } from '../ledger/index.ts';
import { findSeal, findSealAlone } from './find-seal.ts';
import { walkSeals, type RecordedSeal } from './seal-chain.ts';

/** So many other ledgers of one place are remembered; one is enough to keep all blobs. */
const MAX_OTHERS = 8;

const HEAD = {
  ledger: z.string(),
  stateDir: z.string(),
  number: z.int(),
  seal: Sha256,
  runId: z.string(),
  at: z.string(),
  /** The id of the state folder, which is new where a folder was begun anew at the same place. */
  state: z.optional(z.string()),
};
const LedgerHead = z.object(HEAD);
export type LedgerHead = z.infer<typeof LedgerHead>;

/** What the file says: the newest head of the ledger that sealed last, and those of others that were in its place. */
const Note = z.object({
  ...HEAD,
  others: z.optional(z.array(LedgerHead).check(z.maxLength(MAX_OTHERS))),
});
type Note = z.infer<typeof Note>;

/**
 * `ok`: the ledger still has the seal. `none`: no head is kept of it. `rolled-back`: this ledger had the seal and has
 * it no more. `replaced`: another ledger was in this folder. `unreadable`: the file of the head is damaged. `missing`
 * are the heads of other ledgers that were here, and that nobody has given up.
 */
export type HeadVerdict =
  | { readonly kind: 'none' | 'unreadable' }
  | {
      readonly kind: 'ok' | 'replaced' | 'rolled-back';
      readonly head: LedgerHead;
      readonly missing: readonly LedgerHead[];
    };

export interface LedgerHeads {
  /** Where the heads are, for messages. */
  readonly folder: string;
  /** Compares the kept head with the ledger; `null` means that there is no ledger. */
  judge(stateDir: string, ledger: Ledger | null): HeadVerdict;
  /**
   * Remembers a seal that was just recorded. A head that the ledger has lost is kept instead, as the proof of it.
   * One of another ledger is kept beside it, unless the state folder itself was begun anew: then nothing here is of
   * that ledger. Returns the state of the ledger before.
   */
  advance(stateDir: string, ledger: Ledger, newest: RecordedSeal, state?: string): HeadVerdict;
  /** Accepts the ledger as it is from now on; without a seal in it, the head is forgotten. */
  accept(stateDir: string, ledger: Ledger | null): void;
  /** Forgets the heads of folders that are gone, and were used last before that time. */
  prune(before: Date): void;
  /** Every state folder with a kept head. */
  listStateFolders(): string[];
}

export function openLedgerHeads(folder: string): LedgerHeads {
  const fileOf = (stateDir: string): string => join(folder, `${hash('sha256', realPath(stateDir))}.json`);
  const write = (stateDir: string, note: Note | null, durable: boolean): void => {
    makeFolder(folder);
    writeFileAtomicSync(fileOf(stateDir), note === null ? '{}' : canonicalJson(note), { durable });
  };
  const judge = (stateDir: string, ledger: Ledger | null): HeadVerdict => {
    const note = readNote(fileOf(stateDir));
    return note === null || note === 'unreadable'
      ? { kind: note ?? 'none' }
      : compare(listHeads(note), ledger);
  };
  return {
    folder,
    judge,
    advance(stateDir, ledger, newest, state) {
      const note = readNote(fileOf(stateDir));
      const isNext = note !== null && note !== 'unreadable' && note.seal === newest.seal.chain?.previous;
      const verdict: HeadVerdict = isNext
        ? { kind: 'ok', head: note, missing: note.others ?? [] }
        : judge(stateDir, ledger);
      if (verdict.kind === 'rolled-back') return verdict;
      const others = listOthers(verdict, state);
      const head = describeHead(stateDir, newest, state);
      write(stateDir, { ...head, ...(others.length > 0 && { others }) }, others.length > 0);
      return verdict;
    },
    accept(stateDir, ledger) {
      let newest: RecordedSeal | undefined;
      for (const recorded of ledger === null ? [] : walkSeals(ledger)) newest = recorded;
      write(stateDir, newest === undefined ? null : describeHead(stateDir, newest), true);
    },
    prune(before) {
      for (const file of listFiles(folder)) {
        const head = readNote(file);
        if (head === null || head === 'unreadable' || existsSync(head.stateDir)) continue;
        if (Date.parse(head.at) < before.getTime()) removeFileSync(file);
      }
    },
    listStateFolders: () =>
      listFiles(folder).flatMap((file) => {
        const head = readNote(file);
        return head === null || head === 'unreadable' ? [] : [head.stateDir];
      }),
  };
}

function describeHead(stateDir: string, { runId, at, seal }: RecordedSeal, state?: string): LedgerHead {
  const { ledger = '', number = 0 } = seal.chain ?? {};
  const place = { ledger, stateDir: realPath(stateDir), number, seal: seal.envelopeRef };
  return { ...place, runId, at, ...definedOnly({ state }) };
}

function listHeads({ others = [], ...head }: Note): readonly LedgerHead[] {
  return [head, ...others];
}

function listOthers(verdict: HeadVerdict, state: string | undefined): LedgerHead[] {
  if (!('head' in verdict)) return [];
  const isBegunAnew = ![undefined, state].includes(verdict.head.state);
  if (verdict.kind === 'replaced' && isBegunAnew) return [];
  return verdict.missing.slice(0, MAX_OTHERS);
}

function compare(heads: readonly LedgerHead[], ledger: Ledger | null): HeadVerdict {
  const judged = (kind: 'ok' | 'replaced' | 'rolled-back', head: LedgerHead | undefined): HeadVerdict => {
    if (head === undefined) return { kind: 'none' };
    return { kind, head, missing: kind === 'replaced' ? heads : heads.filter((each) => each !== head) };
  };
  if (ledger === null) return judged('replaced', heads[0]);
  const found = heads.find((head) => hasSeal(ledger, head));
  if (found !== undefined) return judged('ok', found);
  const id = findLedgerId(ledger.kv);
  // A new ledger has an id from the start; one without an id is an older copy.
  if (id === null) return judged('rolled-back', heads[0]);
  const own = heads.find((head) => head.ledger === id) ?? findSigned(heads, ledger);
  return own === undefined ? judged('replaced', heads[0]) : judged('rolled-back', own);
}

/** The id is only a row. The signed seals of a ledger name it too, and that is the proof. */
function findSigned(heads: readonly LedgerHead[], ledger: Ledger): LedgerHead | undefined {
  const byId = new Map(heads.map((head) => [head.ledger, head]));
  for (const { seal } of walkSeals(ledger)) {
    const head = byId.get(seal.chain?.ledger ?? '');
    if (head !== undefined) return head;
  }
  return undefined;
}

/** The seal of the head whose run was read, of each open ledger: a run may be long, and each verified run asks. */
const known = new WeakMap<Ledger, string>();

/** A damaged run does not have its seal either. */
function hasSeal(ledger: Ledger, { runId, seal }: LedgerHead): boolean {
  try {
    const isKnown = known.get(ledger) === seal && findSealAlone(ledger, runId)?.envelopeRef === seal;
    if (!isKnown && findSeal(ledger.read({ runId }))?.envelopeRef !== seal) return false;
    known.set(ledger, seal);
    return true;
  } catch {
    return false;
  }
}

function readNote(file: string): Note | null | 'unreadable' {
  if (!existsSync(file)) return null;
  try {
    const text = readFileSync(file, 'utf8');
    if (/^\0*$/.test(text)) return null; // a power cut
    const value: unknown = JSON.parse(text);
    if (canonicalJson(value) === '{}') return null;
    return Note.safeParse(value).data ?? 'unreadable';
  } catch {
    return 'unreadable';
  }
}

function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(folder, name));
}

/** Without links, also where the folder itself is gone. */
function realPath(path: string): string {
  const parent = dirname(path);
  if (existsSync(path)) return realpathSync.native(path);
  return parent === path ? path : join(realPath(parent), basename(path));
}
