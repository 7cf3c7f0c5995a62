import { hit, type Hit } from './finding.ts';
import { SQL_CLIENTS } from './programs/databases.ts';
import { namesLoss } from './programs/destructive-verbs.ts';
import { readsItsArguments } from './own-input.ts';
import { hitOfWrite } from './write-hit.ts';
import type { ShellScope } from './shell-scope.ts';
import { isMadeAgain } from './made-again.ts';
import { kindOfPath } from './path-kind.ts';
import { PROCESS, SECRET } from './unknown-text.ts';

interface RedirectCall {
  readonly operator: string;
  readonly target: string;
  readonly program: string;
  readonly argv: readonly string[];
  /** Whether the same pipeline reads the target. */
  readonly isRead: boolean;
  /** What would be written, as far as it is certain. */
  readonly output: string;
  readonly scope: ShellScope;
}

/** Programs that run what they read, here or elsewhere. */
const RUNS_INPUT = /(^|\/)((ba|z|da|k)?sh|ssh|docker|kubectl|python[\d.]*|node|perl|ruby)$/;
const ENDLESS = new Set(['/dev/zero', '/dev/urandom', '/dev/random']);

/** Classifies a redirection to or from a place. Null when it changes nothing. */
export function judgeRedirect(call: RedirectCall): Hit | null {
  const { operator, target, program, argv } = call;
  if (target.startsWith(PROCESS)) return null;
  if (/^\/dev\/(tcp|udp)\//.test(target)) return judgeSocket(call);
  if (operator === '<' || operator === '<&')
    return namesLoss(target) && (SQL_CLIENTS.includes(program) || RUNS_INPUT.test(program))
      ? hit('bash_destructive', 'destructive-name')
      : null;
  if (operator === '>&' && /^(\d+-?|-)$/.test(target)) return null;
  if (operator === '>>' && program === 'ssh-keyscan' && /(^|\/)\.ssh\/known_hosts$/.test(target))
    return hit('file_write', 'file-write');
  const written = hitOfWrite(target, call.scope);
  if (written === null || written.actionClass !== 'file_write') return written;
  if (program.endsWith('yes') || argv.some((arg) => ENDLESS.has(arg))) {
    return argv.some((arg) => /^(-c|-n|--bytes|count=)/.test(arg))
      ? written
      : hit('bash_destructive', 'fills-disk');
  }
  if (operator === '>>' || operator === '&>>') return written;
  if (isMadeAgain(target, call.scope)) return written;
  if (isEmpty(call))
    return MANY.test(target) ? hit('bash_destructive', 'truncate-many') : hit('file_delete', 'truncate');
  if (call.isRead || (argv.slice(1).includes(target) && readsItsArguments(program)))
    return hit('file_delete', 'self-truncation');
  if (program === 'exec' && isKept(call)) return hit('file_delete', 'truncate');
  return written;
}

/** `exec 3> file` empties the file at once; that is intended for a lock, a log or a temporary file. */
function isKept({ target, argv, scope }: RedirectCall): boolean {
  return (
    argv.length === 1 &&
    !/\.(lock|lck|pid|out|err|fifo|sock|trace)$/.test(target) &&
    !['temp', 'regenerable', 'unknown'].includes(kindOfPath(target, scope))
  );
}

/** `bash -i >& /dev/tcp/…` gives the machine away; a port check does not. */
function judgeSocket(call: RedirectCall): Hit {
  if (call.output.includes(SECRET)) return hit('bash_destructive', 'sends-credentials');
  const isShell = /(^|\/)(ba|z|da|k)?sh$/.test(call.program);
  return isShell || call.program === 'exec'
    ? hit('bash_destructive', 'reverse-shell')
    : hit('network', 'network');
}

/** A pattern, or a name from a listing: every file in turn. */
const MANY = /[*?\uE001\uE002]/;

function isEmpty(call: RedirectCall): boolean {
  return call.output.trim() === '' && (call.program === '' || EMITS_KNOWN.has(call.program));
}

/** Programs whose output is certain, so that an empty one means an emptied file. */
const EMITS_KNOWN = new Set([':', 'true', 'false', 'echo', 'printf', 'cat']);
