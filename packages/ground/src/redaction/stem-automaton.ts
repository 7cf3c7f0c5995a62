/**
 * Aho-Corasick over the first bytes of each form, as one dense table: a lookup per byte and nothing else until a
 * whole stem was seen. Then the form is compared in full, across line breaks where its encoding is usually wrapped.
 */
import { lineBreakAt, listStems, STEM_BYTES } from './form-stems.ts';
import type { SecretForm } from './secret-forms.ts';

export interface SoughtForm extends SecretForm {
  /** What replaces the form. */
  readonly mark: Buffer;
}

export interface FormHit {
  readonly start: number;
  readonly end: number;
  readonly mark: Buffer;
}

export interface StemAutomaton {
  /** There is nothing to search for. */
  readonly isEmpty: boolean;
  /** Hits in order of their start. From `undecidedFrom` on, more bytes could still complete a form. */
  scan(bytes: Buffer): { hits: FormHit[]; undecidedFrom: number };
}

/** Forms must be at least six bytes long. */
export function createStemAutomaton(forms: readonly SoughtForm[]): StemAutomaton {
  const { next, depth, formsAt } = buildTable(forms);
  return {
    isEmpty: forms.length === 0,
    scan(bytes) {
      const hits: FormHit[] = [];
      const length = bytes.length;
      let undecidedFrom = length;
      let state = 0;
      for (let i = 0; i < length; i++) {
        state = next[(state << 8) | (bytes[i] as number)] as number;
        if (state !== 0 && depth[state] === STEM_BYTES) collect(i + 1 - STEM_BYTES);
      }
      return { hits, undecidedFrom: Math.min(undecidedFrom, length - (depth[state] as number)) };

      function collect(start: number): void {
        for (const form of formsAt[state] ?? []) {
          const end = form.mayWrap
            ? endOfWrapped(bytes, start, form.bytes)
            : endOfExact(bytes, start, form.bytes);
          if (end === UNDECIDED) undecidedFrom = Math.min(undecidedFrom, start);
          else if (end !== DIFFERENT) hits.push({ start, end, mark: form.mark });
        }
      }
    },
  };
}

const DIFFERENT = -1;
const UNDECIDED = -2;

function endOfExact(bytes: Buffer, start: number, form: Buffer): number {
  const end = start + form.length;
  const known = Math.min(end, bytes.length);
  if (bytes.compare(form, 0, known - start, start, known) !== 0) return DIFFERENT;
  return end <= bytes.length ? end : UNDECIDED;
}

/** At most one line break between two bytes of the form, so that a stream holds back a limited amount. */
function endOfWrapped(bytes: Buffer, start: number, form: Buffer): number {
  let at = start;
  for (let i = 0; i < form.length; i++) {
    if (bytes[at] !== form[i] && i > 0) {
      const lineBreak = lineBreakAt(bytes, at);
      if (lineBreak === 'undecided') return UNDECIDED;
      at += lineBreak;
    }
    if (at >= bytes.length) return UNDECIDED;
    if (bytes[at] !== form[i]) return DIFFERENT;
    at += 1;
  }
  return at;
}

interface Table {
  next: Uint32Array;
  depth: Uint8Array;
  formsAt: SoughtForm[][];
}

function buildTable(forms: readonly SoughtForm[]): Table {
  const stems = forms.flatMap((form) => listStems(form).map((stem) => ({ stem, form })));
  const capacity = stems.length * STEM_BYTES + 1;
  const next = new Uint32Array(capacity * 256);
  const depth = new Uint8Array(capacity);
  const formsAt: SoughtForm[][] = [];
  let states = 1;
  for (const { stem, form } of stems) {
    let state = 0;
    for (const byte of stem) {
      const edge = (state << 8) | byte;
      if (next[edge] === 0) {
        depth[states] = (depth[state] as number) + 1;
        next[edge] = states++;
      }
      state = next[edge] as number;
    }
    (formsAt[state] ??= []).push(form);
  }
  fillFailures(next, states);
  return { next: next.slice(0, states * 256), depth: depth.slice(0, states), formsAt };
}

/** Breadth first: a state without an edge goes where its longest proper suffix goes. */
function fillFailures(next: Uint32Array, states: number): void {
  const failure = new Uint32Array(states);
  const queue: number[] = [];
  for (let byte = 0; byte < 256; byte++) if (next[byte] !== 0) queue.push(next[byte] as number);
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head] as number;
    const fallback = failure[state] as number;
    for (let byte = 0; byte < 256; byte++) {
      const edge = (state << 8) | byte;
      const target = next[edge] as number;
      const viaFailure = next[(fallback << 8) | byte] as number;
      if (target === 0) next[edge] = viaFailure;
      else {
        failure[target] = viaFailure;
        queue.push(target);
      }
    }
  }
}
