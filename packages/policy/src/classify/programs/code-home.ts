/**
 * Code names a file of the home in many ways: `expanduser`, `homedir()`, `Path.home() / 'x'`, joins, templates, a
 * variable. All of them become the one text '~/x' for the other checks.
 */
const HOME = String.raw`(?:os\.path\.expanduser\(\s*['"]~['"]\s*\)|expanduser\(\s*['"]~['"]\s*\)|process\.env\.HOME\b|process\.env\[['"]HOME['"]\]|(?:\bos|require\(['"](?:node:)?os['"]\))\.(?:homedir|userInfo)\(\)(?:\.homedir)?|\bhomedir\(\)|os\.environ(?:\.get\(\s*['"]HOME['"][^)]*\)|\[['"]HOME['"]\])|os\.getenv\(\s*['"]HOME['"]\s*\)|Deno\.env\.get\(['"]HOME['"]\)|Bun\.env\.HOME|ENV(?:\[['"]HOME['"]\]|\.fetch\(['"]HOME['"]\))|\$ENV\{['"]?HOME['"]?\}|\bgetenv\(\s*['"]HOME['"]\s*\)|\$_(?:SERVER|ENV)\[['"]HOME['"]\]|(?:pathlib\.)?Path\.home\(\)|Dir\.home\b(?:\(\))?|Sys\.getenv\(\s*['"]HOME['"]\s*\))`;
const MENTIONS = new RegExp(`${HOME}|expanduser|expand_path|['"]~/`);
const IN_TEMPLATE = new RegExp(String.raw`[$#]?\{\s*${HOME}\s*\}`, 'g');
const IN_STRING = /\$ENV\{HOME\}(?=\/)/g;
const ALONE = new RegExp(HOME, 'g');
const LITERAL = String.raw`(?:'[^'\n]*'|"[^"\n]*")`;
const JOIN = new RegExp(
  String.raw`(?:\b(?:os\.path|path|File|posixpath|require\(['"](?:node:)?path['"]\))\.(?:join|resolve)|\bjoin|\bresolve|\bfile\.path)\(\s*(${LITERAL}(?:\s*,\s*${LITERAL})+)\s*\)`,
  'g',
);
const EXPAND = new RegExp(
  String.raw`(?:os\.path\.)?\bexpanduser\(\s*(${LITERAL})\s*\)|File\.expand_path\(\s*(${LITERAL})\s*\)|path\.expand\(\s*(${LITERAL})\s*\)`,
  'g',
);
const JOINED = /(['"])(~[^'"\n]*)\1\s*(?:\+|\.{1,2}|\/|<>)\s*(['"`])([^'"`\n]*)\3/;
const MAX_FOLDS = 12;

export function foldHome(code: string): string {
  if (!MENTIONS.test(code)) return code;
  const plain = code
    .replace(/\b[fF]r?(?=['"])/g, '')
    .replace(IN_TEMPLATE, '~')
    .replace(IN_STRING, '~')
    .replace(ALONE, "'~'")
    .replace(EXPAND, (_, ...found: unknown[]) => String(found.find((one) => typeof one === 'string') ?? ''))
    .replace(/\)\.expanduser\(\)/g, ')');
  let text = foldNames(plain).replace(JOIN, (_, list: string) => `'${textsOf(list).join('/')}'`);
  for (let turn = 0; turn < MAX_FOLDS && JOINED.test(text); turn += 1) {
    text = text.replace(
      JOINED,
      (_, __, home: string, ___, rest: string) => `'${home.replace(/\/$/, '')}/${rest.replace(/^\//, '')}'`,
    );
  }
  return foldNames(text.replace(/(^|[^\w)])\(\s*(['"]~[^'"\n]*['"])\s*\)\./g, '$1Path($2).'));
}

/** `p = '~/.bashrc'; open(p, 'a')`: a name that is set once is replaced by its text. */
function foldNames(code: string): string {
  let text = code;
  for (const [, name = '', , value = ''] of code.matchAll(
    /(?:^|[;\n\s{])\$?([A-Za-z_]\w*)\s*=\s*(?:Path\(\s*)?(['"])(~[^'"\n]*)\2(?=\s*(?:[;\n)]|$))/g,
  )) {
    text = text
      .replace(new RegExp(String.raw`([(,]\s*)\$?${name}(?=\s*[,)])`, 'g'), `$1'${value}'`)
      .replace(new RegExp(String.raw`\b${name}\.(?=write_|open\(|touch\()`, 'g'), `Path('${value}').`);
  }
  return text;
}

function textsOf(list: string): string[] {
  return [...list.matchAll(/'([^'\n]*)'|"([^"\n]*)"/g)].map((found) =>
    (found[1] ?? found[2] ?? '').replace(/^\/|\/$/g, ''),
  );
}
