import { setFlagsFromString } from 'node:v8';

/**
 * For a command that goes through a whole ledger: V8 makes room for ever more young objects the longer it goes on, up to 134 MB,
 * whatever of them survives. Without that, it collects them more often, for the same CPU (decision 0048). For all of the process, so a
 * daemon does not call it.
 */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
