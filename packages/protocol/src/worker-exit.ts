/** How a worker exits. Only the codes of `done` and `failed` say that it has seen the end of its last sandbox. */
export const WORKER_EXIT = {
  done: 0,
  failed: 1,
  /** There was an error that nobody caught: what was under way then may go on until the process has ended. */
  broken: 70,
  hostLost: 75,
} as const;
