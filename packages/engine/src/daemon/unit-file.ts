/** A systemd user unit that serves a project. */
import { CaissonError } from '@caisson/protocol';

/** A path that no unit can name. */
export class UnitPathError extends CaissonError {
  readonly code = 'USAGE';
}

export interface UnitOptions {
  readonly node: string;
  /** The CLI's own program. */
  readonly entry: string;
  readonly projectRoot: string;
  /** Given only where it is not the project's own. */
  readonly stateDir: string | null;
}

/** `KillMode=process`: the daemon ends what it started. `NotifyAccess=all`: a helper of ours sends the notices.
 * A start waits for what it must: settling what a dead host left may take long. */
export function formatUnit({ node, entry, projectRoot, stateDir }: UnitOptions): string {
  const command = [node, entry];
  const state = stateDir === null ? [] : ['--state-dir', stateDir];
  return `[Unit]
Description=Caisson for ${escapePercent(requirePlain(projectRoot))}

[Service]
Type=notify
NotifyAccess=all
WorkingDirectory=${escapePercent(requirePlain(projectRoot))}
ExecStart=${quoteAll([...command, 'up', ...state])}
ExecReload=${quoteAll([...command, 'reload', ...state])}
KillMode=process
Delegate=yes
Restart=on-failure
WatchdogSec=60
TimeoutStartSec=infinity
TimeoutStopSec=120

[Install]
WantedBy=default.target
`;
}

function quoteAll(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

/** systemd reads backslashes, quotes, `%` and `$` in a command line. */
function quoteWord(word: string): string {
  const plain = requirePlain(word);
  if (/^[\w./:@=+-]+$/.test(plain)) return plain;
  const escaped = escapePercent(plain).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return `"${escaped.replaceAll('$', '$$$$')}"`;
}

function escapePercent(text: string): string {
  return text.replaceAll('%', '%%');
}

function requirePlain(path: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the ones that a unit cannot have
  if (!/[\u0000-\u001f\u007f]/.test(path)) return path;
  throw new UnitPathError(`${JSON.stringify(path)} has a control character, which a unit cannot name`, {
    remedy: 'Rename that folder.',
  });
}
