/** Code that writes through a name: `p = Path('.git/hooks/pre-commit'); p.write_text(…)`. */
import type { Hit } from '../finding.ts';
import type { ShellScope } from '../shell-scope.ts';
import { hitOfWrite } from '../write-hit.ts';
import { switchesGuardOff } from './unguarded-agents.ts';
import { hit } from '../finding.ts';

const NAMED =
  /(?:^|[;\n\s{(])\$?([A-Za-z_]\w*)\s*:?=\s*(?:(?:pathlib\.)?(?:Path|Pathname\.new|File\.join|path\.(?:join|resolve)|os\.path\.join)\(\s*)?(['"`])([^'"`\n]{2,200})\2((?:\s*[,/]\s*(['"`])[^'"`\n]{1,100}\5){0,4})/g;
const MAX_NAMES = 24;
const MAY_WRITE = /write|Write|dump|append|open|put_contents|copy|rename|replace/;
/** A path outside the project's files contains one of these. */
const MAY_STEER = /['"`](?:\/|~|\.)|caisson|opencode/;

/** What code writes to a path that it named earlier. */
export function hitsOfNamedWrites(text: string, scope: ShellScope): Hit[] {
  if (!MAY_WRITE.test(text) || !MAY_STEER.test(text)) return [];
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

const WRITES_TEXT =
  /\bwrite\w*\s*\(|\.dump\s*\(|\bput_contents\b|\bFile\.write\b|\boutputJson|\bopen\([^\n]{0,200},\s*['"][wa]/i;
const START_UP = /\b(?:site|user)customize\.py\b|\bget(?:user)?sitepackages\b[\s\S]{0,200}\.pth\b/;
const PIPELINE = /\.(?:github\/workflows|gitlab-ci)/;
const LEAKING_STEP =
  /(?:toJSON\(\s*secrets|\b(?:printenv|env)\s*\||\bsecrets\.\w+\s*\}\}[^\n]{0,40}\|)[\s\S]{0,200}\b(?:curl|wget|nc)\b/i;

/**
 * What code writes and another program later runs by itself: settings that stop an agent from asking, start-up code, a
 * CI step.
 */
export function hitOfPlanted(text: string): Hit | null {
  if (!MAY_WRITE.test(text) || !WRITES_TEXT.test(text)) return null;
  if (switchesGuardOff(text)) return hit('system_modify', 'agent-settings');
  if (START_UP.test(text)) return hit('system_modify', 'start-up-code');
  return PIPELINE.test(text) && LEAKING_STEP.test(text) ? hit('bash_destructive', 'sends-credentials') : null;
}
