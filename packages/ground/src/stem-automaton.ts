/**
 * Aho-Corasick over the first bytes of each form, as one dense table: a lookup per byte and nothing else until a
 * whole stem was seen.
 */

export interface SoughtForm {
  readonly bytes: Buffer;
  /** What takes the form's place. */
  readonly mark: Buffer;
}

export interface FormHit {
  readonly start: number;
  readonly end: number;
  readonly mark: Buffer;
}

export interface StemAutomaton {
  /** Hits in order of their start. From `undecidedFrom` on, more bytes could still complete a form. */
  scan(bytes: Buffer): { hits: FormHit[]; undecidedFrom: number };
}

/** No form is shorter: a secret has at least six characters and no encoding makes it shorter than that. */
const STEM_BYTES = 6;

/** Forms must be at least six bytes long. */
export function createStemAutomaton(forms: readonly SoughtForm[]): StemAutomaton {
  const { next, depth, formsAt } = buildTable(forms);
  return {
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
          const end = start + form.bytes.length;
          const known = Math.min(end, length);
          if (bytes.compare(form.bytes, 0, known - start, start, known) !== 0) continue;
          if (end <= length) hits.push({ start, end, mark: form.mark });
          else undecidedFrom = Math.min(undecidedFrom, start);
        }
      }
    },
  };
}

interface Table {
  next: Uint32Array;
  depth: Uint8Array;
  formsAt: SoughtForm[][];
}

function buildTable(forms: readonly SoughtForm[]): Table {
  const capacity = forms.length * STEM_BYTES + 1;
  const next = new Uint32Array(capacity * 256);
  const depth = new Uint8Array(capacity);
  const formsAt: SoughtForm[][] = [];
  let states = 1;
  for (const form of forms) {
    let state = 0;
    for (const byte of form.bytes.subarray(0, STEM_BYTES)) {
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
  return { next: next.subarray(0, states * 256), depth, formsAt };
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
