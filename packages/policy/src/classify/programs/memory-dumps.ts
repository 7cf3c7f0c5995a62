/** The memory of a process that keeps secrets, written to a file. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';

const KEEPS_SECRETS =
  /ssh-agent|gpg-agent|keyring|keychain|1password|bitwarden|keepass|\bvault\b|kwallet|sshd\b|chrome|firefox|lsass|\bagent\b|securityd|pass(word|wd)/i;

export const judgeMemoryDump: Handler = (call) =>
  dumpsSecrets(call) ? hit('bash_destructive', 'dumps-secrets') : hit('file_write', 'file-write');

export function dumpsSecrets({ args, inspector }: Call): boolean {
  return KEEPS_SECRETS.test(args.join(' ')) || KEEPS_SECRETS.test(pidSources(inspector.line));
}

/** What the line looks up to have a number: `PID=$(pgrep ssh-agent); gcore $PID`. */
function pidSources(line: string): string {
  return [...line.matchAll(/\b(?:pgrep|pidof|ps)\b[^|;)&]*/g)].map(([text]) => text).join(' ');
}
