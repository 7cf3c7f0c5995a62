/** Our programs inside a sandbox: in Perl if it is installed (decision 0008), else in Node. */
import { isExecutable } from '@caisson/ground';
import type { DispatchSettings } from '../admission/index.ts';
import { bundlePath } from './bundle-path.ts';

/** In the system's own folders, which are visible inside; one in a user's home would have to be mounted first. */
const PERL = '/usr/bin/perl';
/**
 * Three threads instead of seven, which count against the run's `pids`. Flags that change how V8 compiles or sizes its
 * heap were measured too: they disable its start-up snapshot (8 to 15 ms slower) and save no memory.
 */
const NODE_FLAGS = ['--v8-pool-size=0', '--disable-sigusr1'];

/** What Node would print of the user's code for nobody: its SQLite is experimental, a package.json has no `type`. */
const QUIET = ['ExperimentalWarning', 'MODULE_TYPELESS_PACKAGE_JSON'].map(
  (name) => `--disable-warning=${name}`,
);

/** The program that runs the user's code. */
export function findGuestProgram(node: string): readonly string[] {
  return [node, ...NODE_FLAGS, ...QUIET, bundlePath('guest.mjs')];
}

export function findInsidePrograms(node: string, perl = PERL): DispatchSettings['programs'] {
  if (isExecutable(perl)) {
    const script = bundlePath('inside.pl');
    return { relay: [perl, script, 'relay'], toolShim: [perl, script] };
  }
  return {
    relay: [node, ...NODE_FLAGS, bundlePath('relay.mjs')],
    toolShim: [node, ...NODE_FLAGS, bundlePath('tool-shim.mjs')],
  };
}
