/** Code that writes through a name: `p = Path('.git/hooks/pre-commit'); p.write_text(…)`. */
import type { Hit } from '../finding.ts';
import type { ShellScope } from '../shell-scope.ts';
import { hitOfWrite } from '../write-hit.ts';
import { switchesGuardOff } from './unguarded-agents.ts';
import { hit } from '../finding.ts';

const NAMED =
  /(?:^|[;\n\s{(])\$?([A-Za-z_]\w*)\s*:?=\s*(?:(?:pathlib\.)?(?:Path|Pathname\.new|File\.join|path\.(?:join|resolve)|os\.path\.join)\(\s*)?(['"`])([^'"`\n]{2,200})\2((?:\s*[,/]\s*(['"`])[^'"`\n]{1,100}\5){0,4})/g;
const MAX_NAMES = 24;
const WRITES = /\bwrite|\bdump|\bappend|\bopen|\bput_contents|\bcopy|\brename|\breplace/i;

/** What code writes to a path that it named before. */
export function hitsOfNamedWrites(text: string, scope: ShellScope): Hit[] {
  if (!WRITES.test(text)) return [];
  const found: Hit[] = [];
  let count = 0;
  for (const [, name = '', , first = '', rest = ''] of text.matchAll(NAMED)) {
    if ((count += 1) > MAX_NAMES) break;
    const path = [first, ...[...rest.matchAll(/['"`]([^'"`]*)['"`]/g)].map((part) => part[1] ?? '')].join(
      '/',
    );
    const written = /[./~]/.test(path) ? hitOfWrite(path, scope) : null;
    if (written === null || written.actionClass === 'file_write' || written.actionClass === 'file_read')
      continue;
    if (writesTo(name, text)) found.push(written);
  }
  return found;
}

function writesTo(name: string, text: string): boolean {
  return new RegExp(
    String.raw`\b${name}\.(?:write_|touch\(|open\(\s*['"][wa]|symlink_to|chmod)|\b(?:writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream|outputFile(?:Sync)?|outputJson(?:Sync)?|writeJson(?:Sync)?|writeTextFile(?:Sync)?|file_put_contents|File\.write|IO\.write)\s*\(\s*\$?${name}\b|\b(?:open|fopen|File\.open|openSync)\s*\(\s*\$?${name}\s*,\s*['"][wa]|\b(?:copy\w*|move|rename\w*|replace|symlink\w*)\s*\([^()]{1,120},\s*\$?${name}\s*[,)]`,
  ).test(text);
}

/** Settings that stop an agent or editor from asking, set by code that writes. */
export function hitOfGuardOff(text: string): Hit | null {
  const writes = /\bwrite\w*\s*\(|\.dump\s*\(|\bput_contents\b|\bFile\.write\b|\boutputJson/i.test(text);
  return writes && switchesGuardOff(text) ? hit('system_modify', 'agent-settings') : null;
}
