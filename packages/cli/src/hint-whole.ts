import { shellQuote, type EnvelopeOf } from '@caisson/protocol';

/** `what` is its first words; the record has all that the call was given. */
export function hintWhole(
  { approvalId, call }: EnvelopeOf<'approval.requested'>,
  stateDir: string | undefined,
): readonly string[] {
  return call === undefined
    ? []
    : [`  all that it was given: caisson approvals ${approvalId}${placeOf(stateDir)}`];
}

/** The option that a command in another shell needs, too. */
export function placeOf(stateDir: string | undefined): string {
  return stateDir === undefined ? '' : ` --state-dir ${shellQuote(stateDir)}`;
}
