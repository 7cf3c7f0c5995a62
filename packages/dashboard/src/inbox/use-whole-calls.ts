import { useRef, useState } from 'react';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { useApp } from '../live/app-context.ts';

/** A longer call is shown from its beginning, and all of it once a person asks. */
export const FOLDED_CHARS = 4000;

interface Loaded {
  /** Null where the record has only the call's first words. */
  readonly text: string | null;
  readonly isOpen: boolean;
  readonly problem: ProblemError | null;
}

interface Answer {
  readonly call: { readonly text: string } | null;
}

/** All that the waiting calls were given, each read once its card is there. */
export interface WholeCalls {
  of(approvalId: string): Loaded | null;
  load(approvalId: string): void;
  /** All of it is to be seen; reads it again where that failed. */
  open(approvalId: string): void;
  /** Nothing of it is missing or folded: only then it is allowed. */
  isShown(approvalId: string): boolean;
}

export function useWholeCalls(): WholeCalls {
  const { client } = useApp();
  const [calls, setCalls] = useState<ReadonlyMap<string, Loaded>>(new Map());
  const asked = useRef(new Set<string>());
  const put = (id: string, change: Partial<Loaded>) =>
    setCalls((before) => {
      const known = before.get(id) ?? { text: null, isOpen: false, problem: null };
      return new Map(before).set(id, { ...known, ...change });
    });
  const load = (id: string) => {
    if (asked.current.has(id)) return;
    asked.current.add(id);
    client.get<Answer>(`/v1/approvals/${id}`).then(
      ({ call }) => put(id, { text: call?.text ?? null, problem: null }),
      (error: unknown) => {
        asked.current.delete(id);
        put(id, { problem: asProblem(error) });
      },
    );
  };
  return {
    of: (id) => calls.get(id) ?? null,
    load,
    open(id) {
      const call = calls.get(id);
      if (call === undefined || call.problem !== null) load(id);
      else put(id, { isOpen: true });
    },
    isShown(id) {
      const call = calls.get(id);
      if (call === undefined || call.problem !== null) return false;
      return call.isOpen || (call.text?.length ?? 0) <= FOLDED_CHARS;
    },
  };
}
