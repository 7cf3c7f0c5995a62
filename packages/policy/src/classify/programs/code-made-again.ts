/** Deletions in code whose target is a literal and is made again: `shutil.rmtree('build')`. */
import { isMadeAgain } from '../made-again.ts';
import type { ShellScope } from '../shell-scope.ts';

/** One call that deletes one thing: a text in quotes, or the name of a loop over such texts. */
const CALL =
  /(?:\brequire\(['"]rimraf['"]\)(?:\.sync)?|\b(?:rmtree|removedirs|rm_rf|rm_r|rmSync|rmdirSync|unlinkSync|rm|unlink|remove|removeSync|emptyDirSync|rimraf(?:\.sync|Sync)?|remove_tree|RemoveAll))\s*\(\s*(?:(['"])([\w.*/@-]+)\1|([A-Za-z_$][\w$]*))\s*(?:,[^()'"`]*)?\)/g;
/** Code that changes the meaning of a name. */
const ELSEWHERE = /\b(?:chdir|rename\w*|replace|move\w*|symlink\w*|link\w*|chroot|mount)\s*\(/;
const LOOPS = [
  /\bfor\s*\(?\s*(?:const|let|var)?\s*([\w$]+)\s+(?:in|of)\s*[[(]((?:\s*(?:'[^'\n\\]*'|"[^"\n\\]*")\s*,?)+)[\])]/g,
];
const NAMES =
  /\b(?:rmtree|removedirs|rm_rf|rm_r|rm|unlink|remove|rimraf|remove_tree|RemoveAll|emptyDirSync)|Sync/;
const IMPORTS =
  /\bfrom\s+(?:os|shutil|pathlib)\s+import\s+(?:rmtree|remove|unlink)\s*(?=[;\n]|$)|\b(?:const|let|var|import)\s*\{\s*(?:rm|rmSync|unlinkSync|rmdirSync)\s*\}\s*(?:=\s*require\(['"](?:node:)?fs['"]\)|from\s*['"](?:node:)?fs['"])|\b(?:const|let|var)\s+rimraf\s*=\s*require\(['"]rimraf['"]\)/g;

/** The code without such calls, and whether there was one; the rest is judged as usual. */
export function withoutMadeAgain(code: string, scope: ShellScope): { text: string; deletes: boolean } {
  if (!NAMES.test(code) || ELSEWHERE.test(code)) return { text: code, deletes: false };
  const loops = loopsOf(code);
  let deletes = false;
  const text = code.replace(CALL, (call: string, ...groups: (string | undefined)[]) => {
    const [, path, name] = groups;
    const targets = path === undefined ? loops.get(name ?? '') : [path];
    if (targets?.every((target) => isMadeAgain(target, scope)) !== true) return call;
    deletes = true;
    return '0';
  });
  return deletes ? { text: text.replace(IMPORTS, ''), deletes } : { text: code, deletes };
}

/** Loops over a literal list; a name that is set again counts for nothing. */
function loopsOf(code: string): Map<string, string[]> {
  const loops = new Map<string, string[]>();
  for (const pattern of LOOPS) {
    for (const [, name = '', list = ''] of code.matchAll(pattern)) {
      const isSetAgain =
        loops.has(name) || new RegExp(`\\b${name.replaceAll('$', '\\$')}\\s*[+]?=[^=]`).test(code);
      loops.set(
        name,
        isSetAgain ? [''] : [...list.matchAll(/'([^']*)'|"([^"]*)"/g)].map((m) => m[1] ?? m[2] ?? ''),
      );
    }
  }
  for (const [, name = ''] of code.matchAll(MADE_FOLDER)) {
    const sets = code.match(new RegExp(`\\b${name.replaceAll('$', '\\$')}\\s*[+]?=[^=]`, 'g'))?.length;
    loops.set(name, sets === 1 ? ['/tmp/mktemp'] : ['']);
  }
  return loops;
}

/** A temporary folder that the code itself made. */
const MADE_FOLDER =
  /([A-Za-z_$][\w$]*)\s*=\s*(?:tempfile\.)?(?:mkdtemp|mktemp|fs\.mkdtempSync|mkdtempSync|Dir\.mktmpdir)\s*\(/g;
