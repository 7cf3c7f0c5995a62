import { CaissonError } from '@caisson/protocol';

class OldNodeError extends CaissonError {
  readonly code = 'NODE_TOO_OLD';
}

/** An older Node crashes when it loads SQLite. The command says the same (bin/caisson.js). */
export function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  throw new OldNodeError(`Node ${version} is too old. Install Node 22.18 or newer and run this again.`);
}
