/** Colours for the words of one line of code. It knows no grammar: comments, texts, numbers and keywords are enough. */
export type TokenKind = 'plain' | 'key' | 'text' | 'note' | 'number';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const C_LIKE =
  'abstract as async await bool boolean break case catch char class const constexpr continue debugger declare default defer delete do double else enum export extends extern false final finally float fn for from func function go goto if impl implements import in include inline instanceof int interface internal is let long loop match mod module mut namespace new nil null nullptr of operator override package private protected pub public readonly ref return self short signed sizeof static string struct super switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using var virtual void volatile when where while with yield';
const SCRIPT =
  'and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except export false fi finally for from function global if import in is lambda local module next nil None nonlocal not null or pass raise rescue return self then True False true try unless until when while with yield';
const SQL =
  'add all alter and as asc begin between by case commit create default delete desc distinct drop else end exists foreign from group having if in index insert into is join key left like limit not null on or order primary references right rollback select set table then union unique update values view when where with';

interface Language {
  readonly keywords: ReadonlySet<string>;
  readonly note: string;
}

const language = (words: string, note: string): Language => ({ keywords: new Set(words.split(' ')), note });
const C = language(C_LIKE, String.raw`\/\/.*|\/\*.*?(?:\*\/|$)|^\s*\*(?:\s.*|\/)?$`);
const HASH = language(SCRIPT, '#.*');
const DATA = language('true false null yes no', '#.*|\\/\\/.*');
const QUERY = language(`${SQL} ${SQL.toUpperCase()}`, '--.*');
const MARKUP = language('', '<!--.*?(?:-->|$)');

const BY_ENDING: Readonly<Record<string, Language>> = {
  ...each(
    'ts tsx js jsx mjs cjs mts cts java kt c h cc cpp hpp cs go rs swift scala dart php css scss proto',
    C,
  ),
  ...each('py rb sh bash zsh fish pl ex exs r dockerfile makefile mk', HASH),
  ...each('json jsonc yaml yml toml ini cfg conf', DATA),
  ...each('sql', QUERY),
  ...each('html xml svg vue md', MARKUP),
};

/** A longer line is not coloured. */
const MAX_CHARS = 2000;

export function findLanguage(path: string): Language | null {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const ending = name.slice(name.lastIndexOf('.') + 1);
  return Object.hasOwn(BY_ENDING, ending) ? (BY_ENDING[ending] ?? null) : null;
}

const patterns = new Map<Language, RegExp>();

export function highlightLine(text: string, of: Language | null): Token[] {
  if (of === null || text.length > MAX_CHARS) return [{ kind: 'plain', text }];
  const tokens: Token[] = [];
  let from = 0;
  for (const found of text.matchAll(patternOf(of))) {
    const kind = kindOf(found, of);
    if (kind === 'plain') continue;
    if (found.index > from) tokens.push({ kind: 'plain', text: text.slice(from, found.index) });
    tokens.push({ kind, text: found[0] });
    from = found.index + found[0].length;
  }
  if (from < text.length) tokens.push({ kind: 'plain', text: text.slice(from) });
  return tokens;
}

function patternOf(of: Language): RegExp {
  const known = patterns.get(of);
  if (known !== undefined) return known;
  const texts = String.raw`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|${'`'}(?:[^${'`'}\\]|\\.)*${'`'}?`;
  const pattern = new RegExp(String.raw`(${texts})|(${of.note})|(\b\d[\w.]*)|([A-Za-z_$][\w$]*)`, 'g');
  patterns.set(of, pattern);
  return pattern;
}

function kindOf([, text, note, number, word]: RegExpMatchArray, { keywords }: Language): TokenKind {
  if (text !== undefined) return 'text';
  if (note !== undefined) return 'note';
  if (number !== undefined) return 'number';
  return word !== undefined && keywords.has(word) ? 'key' : 'plain';
}

function each(endings: string, of: Language): Record<string, Language> {
  return Object.fromEntries(endings.split(' ').map((ending) => [ending, of]));
}
