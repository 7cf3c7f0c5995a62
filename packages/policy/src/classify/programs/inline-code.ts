/**
 * Code of other languages, judged by its calls. This is not a parser of eight languages: it looks for the calls that
 * delete, for the strings that such code would give to a shell, and for the ways of hiding either. The sandbox is the
 * boundary; this is a hint.
 */
import { isGrave } from '../../action-class.ts';
import { hit } from '../finding.ts';
import type { Call } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { hitOfDelete } from '../delete-hit.ts';
import { foldHome } from './code-home.ts';
import { codeExhausts } from './code-exhausts.ts';
import { codeSendsSecrets } from './code-secrets.ts';
import { hitOfPlanted, hitsOfNamedWrites } from './code-settings.ts';
import { withoutMadeAgain } from './code-made-again.ts';
import { UNTRUSTED } from '../unknown-text.ts';
import { hitOfWrite } from '../write-hit.ts';

const DELETES_TREE =
  /\bunlink\s*\([^)]{0,200}recursive\s*=\s*T|\brmtree\b|\bremovedirs\b|\brm_r\w*|\brmSync\b|\brmdirSync\b|\bfs\w*(?:\/promises)?['"`)]*(?:\.promises)?\s*\.\s*rm(?:dir)?\s*\(|\.\s*rm(?:dir)?(?:Sync)?\s*\([^)]{0,300}recursive|\brimraf\b|\brm_rf\b|\bremove_tree\b|\bremove_entry(?:_secure)?\b|\bremove_dir\b|\bremoveSync\b|\bemptyDirSync\b|\bRemoveAll\b|Remove-Item\b|\brd\s+\/s\b|\bdel\s+\/[sfq]\b|\.rmtree\(|\bDeno\.remove(?:Sync)?\s*\(|\bdelete-directory\b|\bFile\.rm_rf|\bunlink\s*(?:glob|<|\()\s*['"]?[^'")>]{0,200}\*|\bdelete_tree\b|\b(?:rename|renameSync|move)\b[^)]{0,300}["']\/dev\/null|\brm\s*\([^)]{0,300}recursive|\bdeltree\b|\bdelete(?:Recursively|Dir|Directory|Tree)\b|\bremove_dir_all\b|\bremoveDirectoryRecursive\b|\bremovePathForcibly\b|\bdel_dir_r\b|\bremoveDir\b|\bdelete-directory|\bfile\s+delete\s+-force|\bformat-volume\b|\bclear-disk\b|\bemptyDir\b|\bremoveItem\b|\bsend2trash\b|\brm\s*\(\s*(?!list\b)[\w.$]+\s*[,)]/;
const DELETES_FILE =
  /\b(?:copy(?:file|File|FileSync)?|cp(?:Sync)?|symlink(?:Sync)?)\s*\(\s*['"]\/dev\/null|\bO_TRUNC\b|\bunlink\s*\}|\bunlink\s+(?:if|unless)\b|\bcall\s+delete\s*\(|\bto\s+delete\b|\bdelete\s+every\b|\bunlink\s+(?:grep|map|sort|keys|readdir)\b|\bchmod(?:Sync)?\s*\([^)]{0,200},\s*0(?:o?0*)\s*\)|\(erase-buffer\)|(?<![.\w])truncate\s+['"$]|\bempty\s+(?:the\s+)?trash\b|\bFiles\.(?:delete|deleteIfExists|move)\b|\.delete(?:OnExit)?\(\s*\)|\bremove_file\b|\bremoveFile\b|\bSys\.remove\b|\bUnix\.(?:unlink|rmdir)\b|\bfile\s+delete\b|\bfile:(?:delete|del_dir)\b|\bdelete-file\b|\bos\.Remove\b|\bFile\.rm!?\s*[("]|\bremove_all\b|\bunlink\b\s*(?:[;@$]|$)|\bFile\.truncate\b|\b(?:File|IO)\.write\s*\(?\s*(["'])[^"']*\1\s*,\s*(["'])\2|\bos\s*\.\s*(?:remove|unlink|rmdir)\b|\bunlink(?:Sync)?\s*\(|\bunlink\s+(?:["'$<@]|for\b|shift\b|glob\b)|\brmdir\s*\(|\brmdir\s+["'$]|\brm\s*\(\s*["']|(?:writeFileSync|writeFile|file_put_contents|write_text)\s*\(\s*(?:(["'])[^"']*\3\s*,\s*)?(["'])\4\s*\)|["']unlink["']\s*,|\b(?:File|Dir|FileUtils)\.(?:delete|unlink|rmdir|rm\w*)\b|\bPath\([^)]{0,300}\)\.(?:unlink|rmdir)\b|\.unlink\(|\.rmdir\(|\btruncate(?:Sync)?\s*\(|\bfile\.remove\b|\bdelete-file\b|\bopen\([^)]{0,300},\s*['"]w['"]\)\.close|^\s*:?(?:%|1,\$|0,\$|,)\s*d\b|Clear-Content\b/i;
const RUNS_COMMANDS =
  /\b(?:exec|run|send|invoke)_?[cC]ommand\b|\bos:cmd\b|\/sh\s+"|\(\s*(?:shell|sh|process)\s+"|["']\|-?|-\|["']|\bsil(?:ent)?!?\s+!|\be?syscmd\b|\bsys\.process\b|\bProcess(?:Builder)?\s*\(|\.exec\s*\(|\bexecShellCmd\b|\bSys\.command\b|\bpcntl_exec\b|\bos\/exec\b|\bexec\.Command\b|\bcallProcess\b|\bcallCommand\b|\brun-program\b|\brun-shell-command\b|\bshell-command\b|\bcall-process\b|\bsystem\*?\b|\bexec\s|\bshell\s*\(|\bexeca?\b|\bstart_process\b|\bposix_spawn\b|\bsh\.\w+\(|\bDeno\.Command\b|\bos\s*\.\s*(?:system|popen|exec\w*|spawn\w*)\b|\bsubprocess\b|\bcommands\.getoutput|\bpty\.spawn|child_process|\bexec(?:Sync|File|FileSync|a)?\s*[('"`[]|\bspawn(?:Sync)?\s*\(|\bsystem\s*[('"[\s]|\bpopen\s*\(|\bshell_exec\b|\bpassthru\b|\bproc_open\b|`|\bqx\b|%x|\bKernel\.|\bOpen3\b|\bIO\.popen|\bos\.execute|\bBun\.\$|\bDeno\.(?:Command|run)|\$\(|[dD][oO]\s+[sS][hH][eE][lL][lL]\s+[sS][cC][rR][iI][pP][tT]|\bsh\s*\(|getline|\|\s*getline|\|\s*"(?:sh|bash)"|:!|^!|\bspawn\s|\bRuntime\b|\bInvoke-Expression\b|\biex\b|\bStart-Process\b|\bos\.cmd\b|\bSystem\.cmd\b|\bexecl?[vp]*\b|\bshell\s*!|\.sh\(/m;
const HIDES =
  /(?:\b(?:exec|Function|system|popen|import_string)|(?<![.\w])eval|\b(?:window|globalThis|global|self|builtins|__builtins__|Kernel)\.eval|(?<!\bre\.|\w)compile|(?<!\b(?:json|orjson|ujson|yaml|toml|tomllib)\.)\bloads|\bassert(?=\s*\(\s*(?:\w*decode|str_rot13|gz\w+|\$)))\b[\s\S]{0,80}\b(?:b64decode|base64|atob|decode\(|fromhex|unhexlify|fromCharCode|chr\(|pack\s*\(?["']H|Buffer\.from|rot13|decompress|urlopen|requests\.get|fetch\(|urllib)|-enc(?:odedcommand)?\b|\bgetattr\s*\([^)]{0,300}\+|\bgetattr\s*\(\s*(?:os|shutil|subprocess|pathlib)\b|["'](?:unlink|rmdir|rmtree|shell_exec|passthru|unlinkSync|rmSync|execSync)["']\s*[;\]]|__import__\([^)]{0,300}\+|\\x72\\x6d/i;
const MAY_DROP = /drop|truncate|delete|destroy|flush|prune|force|clean_with|purge|migrate_down/i;
const DROPS_DATA =
  /(?:->|::)delete\(\s*\)|\b(?:containers|images|volumes|networks|system)\.prune\(|\.dropDatabase\b|\.drop\(\)|\bDROP\s+(?:TABLE|DATABASE|SCHEMA)\b|\bTRUNCATE\s+TABLE\b|["'`]\s*TRUNCATE\s+[\w#${%"'`]|["'`]\s*DELETE\s+FROM\s+[#${%"'][^"'`]{0,60}["'`]|\bDELETE\s+FROM\s+\\?["'`]?\w+\\?["'`]?\s*(?:\\?["'`;)])|\.(?:find_)?each\w*\s*(?:\(&:|\{\s*\|\w+\|\s*\w+\.)(?:destroy|delete)!?\b|\.all\(\)\.delete\(|\.filter\(\)\.delete\(|\bsync\(\s*\{\s*force\s*:\s*true|\bsequelize\.drop\(|\bdelete_all\b|\bcall_command\(\s*['"](?:flush|reset_db|sqlflush)|\bDatabaseCleaner\.clean_with\b|\bSchema::drop\w*\(|\bpurge_current\b|\bdropSchema\b|\bmigrate_down\b|\.flushall\b|\.deleteMany\(\s*(?:\{\s*\})?\s*\)|\bdrop_all\b|\.objects\.all\(\)\.delete\(|\.delete_all\b|(?:::|->)\s*(?:truncate|forceDelete|dropIfExists|drop)\s*\(|\.truncate\s*\(\s*\)|\bdrop_table\b|\bdrop_collection\b|\bdrop_database\b|\.flush_all\b|\.flushdb\b|\.delete_many\(\s*\{\s*\}|\.destroy_all\b|\bDELETE\s+FROM\s+\w+\s*["';)]/i;
const WRITES =
  /(?:open|openSync|fopen|File\.open|File\.write|IO\.write|writeFile(?:Sync)?|appendFile(?:Sync)?|write_text|write_bytes|createWriteStream|file_put_contents|Path|writeTextFile(?:Sync)?|copyFile(?:Sync)?|copy|copyfile|chmod|chown|chmodSync|chownSync|renameSync|rename|symlink(?:Sync)?)\s*[( ]\s*(['"`])([^'"`\n]+)\1(?:\s*,\s*['"](r?[wa+xb]+)['"])?/g;
/** Opened for writing, and nothing on the line writes. */
const TRUNCATES =
  /\b(?:open|fopen|openSync)\s*\([^)]{0,300},\s*(?:mode\s*=\s*)?['"]wb?['"]|\bcreateWriteStream\s*\(\s*['"][^'"]+['"]\s*\)(?!\s*[,)]|\.)/;
/** Libraries that connect to a repository without a shell. */
const DRIVES_GIT =
  /\.git\.(?:reset|clean|push|checkout|restore|rm)\(|\bremotes?(?:\.\w+|\([^)]*\)|\[[^\]]*\])?\.push\(|\b(?:simpleGit|simple_git|git)\([^)]*\)\.(?:push|reset|clean)\(/;
const KILLS_ALL =
  /\bkill\s*\(\s*-1\b|\bkill\s*\(?\s*['"]?(?:9|KILL|SIGKILL)['"]?\s*(?:,|=>)\s*-1\b|\b(?:shut down|restart|log out)\b|\.(?:kill|terminate)\((?:(?!\bif\b)[^\n]){0,80}process_iter\((?!(?:(?!\n)[\s\S])*\bif\b)|process_iter\((?:(?!\bif\b)[\s\S]){0,160}\.(?:kill|terminate)\(|(?:listdir|glob|scandir|readdirSync|readdir|entries|opendir)\W{1,4}['"`]?\/proc\b[\s\S]{0,300}\bkill\b/i;
const FETCHES =
  /\burlopen\b|\brequests\.\w+\(|\.get\(\s*['"]http|\bhttps?['"]?\)?\.get\b|\bfetch\s*\(|\bLWP\b|\bURI\.open\b|open-uri|\bNet::HTTP\b|file_get_contents\(\s*['"]https?:|\bcurl_exec\b|\bHTTP::Tiny\b|\baxios\b/;
const EVALUATES =
  /(?<![.\w])(?:eval|exec|execfile)\b|\b(?:globalThis|window|Kernel|builtins|__builtins__)\.(?:eval|exec)\b|\b(?:instance_eval|class_eval|runInThisContext|runInNewContext)\b|\bassert\s*\(\s*(?:\$|file_get|curl)|new\s+Function\b|\bFunction\s*\(/;
const HTTP_DELETE = /\b(?:requests|httpx|axios|session|client)\.delete\(|method['"]?\s*[:=]\s*['"]DELETE['"]/;
const REVERSE_SHELL =
  /socket[\s\S]{0,600}(?:dup2|\/bin\/(?:ba|z)?sh|pty\.spawn)|(?:net\.connect|createConnection|fsockopen|TCPSocket|IO::Socket)[\s\S]{0,600}(?:\/bin\/(?:ba)?sh|spawn\(|popen|\bexec\b|\bsystem\b)/;

/** Names imported from a module under any name: `from os import remove as r`, `const {unlink} = require('fs')`. */
const IMPORTS_DELETION =
  /\bfrom\s+(?:os|shutil|pathlib|send2trash)\s+import\b[^;\n]{0,300}\b(?:remove|unlink|rmdir|removedirs|rmtree|truncate|send2trash)\b|[{,]\s*(?:unlink|rm|rmdir|truncate|remove)(?:Sync)?\b[^}]{0,300}\}\s*(?:=\s*(?:await\s+import|require)|from\b)|\b(?:unlink|rm|rmdir|truncate)Sync\b/;
const IMPORTS_EXEC = /\bfrom\s+(?:os|subprocess|pty|commands|sh)\s+import\b/;

/** Whether a word of a command is likely code: it calls something. */
export function looksLikeCode(word: string): boolean {
  return word.length > 4 && /[\w!?]\(|::\w|\.\w+_all\b|=>|\.(?:drop|destroy|delete)\w*\b/.test(word);
}

export function judgeCode(code: string, call: Call): void {
  const { text, deletes } = withoutMadeAgain(foldConcatenation(foldHome(code)), call.scope);
  if (deletes) call.inspector.report(hit('bash_exec', 'delete-regenerable'), call.cause);
  const report = (actionClass: 'bash_destructive' | 'file_delete', rule: string): void =>
    call.inspector.report(hit(actionClass, rule), call.cause);
  if (HIDES.test(text)) report('bash_destructive', 'hidden-code');
  if (DELETES_TREE.test(text)) report('bash_destructive', 'code-deletes-tree');
  else if (DELETES_FILE.test(text) || IMPORTS_DELETION.test(text)) reportFileDeletion(text, call);
  if (MAY_DROP.test(text) && DROPS_DATA.test(text)) report('bash_destructive', 'code-drops-data');
  if (DRIVES_GIT.test(text)) call.inspector.report(hit('git_destructive', 'code-drives-git'), call.cause);
  if (KILLS_ALL.test(text)) call.inspector.report(hit('system_modify', 'kill-everything'), call.cause);
  if (HTTP_DELETE.test(text) && !/localhost|127\.0\.0\.1/.test(text))
    report('bash_destructive', 'http-delete');
  if (FETCHES.test(text) && EVALUATES.test(text)) report('bash_destructive', 'remote-code');
  if (codeSendsSecrets(text)) report('bash_destructive', 'sends-credentials');
  if (REVERSE_SHELL.test(text)) report('bash_destructive', 'reverse-shell');
  if (codeExhausts(text)) report('bash_destructive', 'fork-bomb');
  if (TRUNCATES.test(text) && !/write|dump|print|save|writerow|copyfileobj|puts/.test(text))
    report('file_delete', 'truncate');
  const planted = hitOfPlanted(text);
  for (const found of [...hitsOfNamedWrites(text, call.scope), ...(planted === null ? [] : [planted])])
    call.inspector.report(found, call.cause);
  reportWrites(text, call);
  reportCopies(text, call);
  reportPerlOpens(text, call);
  if (RUNS_COMMANDS.test(text) || IMPORTS_EXEC.test(text)) runStrings(text, call);
}

/** Deleting in a loop over a listing is deleting a tree. */
function reportFileDeletion(text: string, call: Call): void {
  const loops =
    /\b(for|map|each|forEach|r?glob|listdir|readdirSync|readdir|list\.files|walk|scandir|iterdir|children|RecursiveDirectoryIterator)\b|\bfind(?:depth)?\s*\(?\s*(?:sub\b|\{|\\&)|\bFind\.find\b/.test(
      text,
    );
  const targets = gravestTexts(stringsOf(text)).map((path) => hitOfDelete(path, false, call.scope));
  const grave = targets.find((found) => found.actionClass === 'system_modify');
  if (grave !== undefined) call.inspector.report(grave, call.cause);
  else
    call.inspector.report(
      hit(loops ? 'bash_destructive' : 'file_delete', loops ? 'code-deletes-tree' : 'code-deletes-file'),
      call.cause,
    );
}

function reportWrites(text: string, call: Call): void {
  const fetches = FETCHES.test(text);
  for (const match of text.matchAll(WRITES)) {
    const isOpen = /^(open|fopen|File\.open|Path)/.test(match[0]);
    if (isOpen && match[3] === undefined && !/\.write_|\.touch|\.unlink|\.open\(\s*['"][wax]/.test(text))
      continue;
    if (isOpen && match[3] !== undefined && !/[wax+]/.test(match[3])) continue;
    const found = hitOfWrite(match[2] ?? '', call.scope);
    if (found !== null) call.inspector.report(found, call.cause);
    if (fetches) call.inspector.files.set(match[2] ?? '', UNTRUSTED);
  }
}

/** `copy(a, '~/.bashrc')`: the second is written. */
const COPIES =
  /\b(?:copy\w*|move\w*|rename\w*|replace|symlink\w*|link|linkSync|install|download\w*|urlretrieve)\(\s*[^,()]+,\s*(['"])([^'"\n]+)\1/g;

function reportCopies(text: string, call: Call): void {
  for (const match of text.matchAll(COPIES)) {
    const found = hitOfWrite(match[2] ?? '', call.scope);
    if (found !== null && isGrave(found.actionClass)) call.inspector.report(found, call.cause);
  }
}

/** `open F, ">>file"`, `open(my $f, '>', 'file')`. */
function reportPerlOpens(text: string, call: Call): void {
  const writes = /\b(?:print|printf|say|write|syswrite)\b/.test(text);
  for (const match of text.matchAll(
    /\bopen\b[^;]{0,200}?,\s*["']\s*\+?>>?\s*(?:["']\s*,\s*["'])?([^"';]+)["']/g,
  )) {
    const path = (match[1] ?? '').replace(/\$ENV\{HOME\}/, '~');
    const found = hitOfWrite(path, call.scope);
    if (found !== null) call.inspector.report(found, call.cause);
    if (!match[0].includes('>>') && !writes)
      call.inspector.report(hit('file_delete', 'truncate'), call.cause);
  }
}

/** Every string, and every list of strings joined, is judged as the command it may be. */
function runStrings(text: string, call: Call): void {
  const texts = gravestTexts([...stringsOf(text), ...listsOf(text), ...shellEscapesOf(text)]);
  for (const candidate of texts) {
    if (!/^[\s\w./~\\$({:"'|>![-]/.test(candidate) || candidate.length > 2000) continue;
    const findings = call.inspector.collect(() =>
      call.inspector.runScript(candidate.replace(/^\s*\|-?/, ''), forkScope(call.scope), call.cause),
    );
    for (const found of findings) {
      // A string that is no shell at all is not a command that cannot be parsed.
      if (found.rule !== 'unparsable' && isGrave(found.actionClass)) call.inspector.report(found, call.cause);
    }
  }
}

const MAX_STRINGS = 400;
const TELLING = /\b(rm|git|dd|sudo|mkfs|shred|kill|find|unlink|truncate|docker|kubectl|chmod|curl|sh|bash)\b/;

/** Each text once; of very many, only those that name a program worth judging. */
function gravestTexts(texts: readonly string[]): string[] {
  const distinct = [...new Set(texts)];
  if (distinct.length <= MAX_STRINGS) return distinct;
  return [...distinct.filter((text) => TELLING.test(text)), ...distinct].slice(0, MAX_STRINGS);
}

function stringsOf(text: string): string[] {
  const strings: string[] = [];
  for (const match of text.matchAll(
    /'''([\s\S]*?)'''|"""([\s\S]*?)"""|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|(?:%x|qx|%w|\bqw)\s*[({[|/]([^)}\]|/]*)[)}\]|/]/g,
  )) {
    const body = match.slice(1).find((group) => group !== undefined);
    if (body !== undefined && body.trim() !== '') strings.push(body.replace(/\\(['"`])/g, '$1'));
  }
  return strings;
}

/** `['rm', '-rf', '/']` and `spawn('rm', ['-rf', '/'])`. */
function listsOf(text: string): string[] {
  const lists: string[] = [];
  for (const match of text.matchAll(
    /(?:(['"`])([\w./-]+)\1\s*,\s*(?:\{\s*args\s*:\s*)?)?\[\s*((?:(?:'[^']*'|"[^"]*"|`[^`]*`)(?:\s*,\s*|\s+)?)+)\]|(?:\(|\b(?:exec|system|spawn|sh|shell|process)\s)((?:\s*(?:'[^']*'|"[^"]*")\s*,?){2,})/g,
  )) {
    const items = stringsOf(match[3] ?? match[4] ?? '');
    lists.push([...(match[2] === undefined ? [] : [match[2]]), ...items].join(' '));
  }
  return lists;
}

/** `:!cmd` of vim, `!cmd`. */
function shellEscapesOf(text: string): string[] {
  return [
    ...text.matchAll(
      /(?:(?:^|:|\|)\s*(?:silent\s+|sil\s+)?!+\s*|\b(?:spawn|exec)\s+|\be?syscmd\(`?)([^|\n)']+)/gm,
    ),
  ].map((match) => match[1] ?? '');
}

/** Joins `'r' + 'm'`, `"r"."m"` and `'r' 'm'` into one string. */
function foldConcatenation(code: string): string {
  return code
    .replace(
      /\bqq?\s*(?:\(([^()]*)\)|\{([^{}]*)\})/g,
      (_, round?: string, curly?: string) => `'${round ?? curly ?? ''}'`,
    )
    .replace(/\b(?:__import__|importlib\.import_module)\(\s*['"]([\w.]+)['"]\s*\)/g, '$1')
    .replace(HOME_THEN, (_, quote: string) => `${quote}~/`)
    .replace(/(['"])\s*(?:\+|\.)\s*\1/g, '');
}

/** `process.env.HOME + '/x'`, `Path.home() / 'x'`: the same as '~/x'. */
const HOME_THEN =
  /(?:process\.env\.HOME|os\.homedir\(\)|os\.environ\[['"]HOME['"]\]|os\.getenv\(['"]HOME['"]\)|ENV\[['"]HOME['"]\]|\$ENV\{HOME\}|getenv\(['"]HOME['"]\)|Path\.home\(\)|Dir\.home)\s*[+./,]\s*(['"`])\/?/g;
