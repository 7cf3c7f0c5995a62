import { useState } from 'react';
import { asProblem, type ProblemError } from '../api/problem.ts';

export interface Action {
  readonly isBusy: boolean;
  readonly problem: ProblemError | null;
  /** Runs one thing at a time; whether it worked. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

/** Something a person asked for: whether it is under way, and why it failed. */
export function useAction(): Action {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<ProblemError | null>(null);
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    if (isBusy) return false;
    setIsBusy(true);
    setProblem(null);
    try {
      await work();
      return true;
    } catch (error) {
      setProblem(asProblem(error));
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  return { isBusy, problem, run, clear: () => setProblem(null) };
}
