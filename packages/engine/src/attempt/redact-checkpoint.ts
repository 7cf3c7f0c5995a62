import type { Checkpoint } from '../workspace/index.ts';

/** What is said of a checkpoint in the record, without secrets of the agent. */
export function redactCheckpoint(saved: Checkpoint, redact: (text: string) => string): Checkpoint {
  const { heads, warnings, heldBack, beside } = saved;
  return {
    ...saved,
    heads: heads.map(redact),
    warnings: warnings.map(redact),
    ...(beside === undefined
      ? {}
      : { beside: beside.map(({ what, get }) => ({ what: redact(what), get: redact(get) })) }),
    ...(heldBack === undefined ? {} : { heldBack: { ...heldBack, paths: heldBack.paths.map(redact) } }),
  };
}
