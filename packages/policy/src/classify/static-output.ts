/** What a command certainly prints: a line can hide text that way and give it to a shell. */
import type { Stdin } from './inspector.ts';
import { isUnknown, PRODUCED, PROCESS, UNTRUSTED } from './unknown-text.ts';

/** Downloaders, decoders, interpreters and filters: their output may be any text. */
const UNTRUSTED_PRODUCERS =
  /^(curl|wget|http|https|xh|fetch|aria2c|nc|ncat|socat|ssh|base64|base32|xxd|openssl|gpg|gunzip|zcat|gzip|bzip2|xz|bunzip2|xzcat|uudecode|tr|sed|awk|gawk|perl|python[\d.]*|node|ruby|php|cat|head|tail|cut|rev|tac|dd|strings|jq|od|hexdump|dig|nslookup|host|read|paste|sort|grep|pbpaste|xclip|xsel|echo|printf|fold|column|tee)$/;

/** The output of a program, with UNKNOWN characters where only a run could reveal it. */
export function staticOutput(name: string, args: readonly string[], stdin: Stdin): string {
  switch (name) {
    case 'echo':
      return echo(args);
    case 'printf':
      return printf(args);
    case ':':
    case 'true':
    case 'false':
    case 'export':
    case 'cd':
    case 'set':
    case 'alias':
    case 'unset':
    case 'shopt':
    case 'mkdir':
    case 'touch':
      return '';
    case 'cat':
    case 'tee':
      return cat(name, args, stdin);
    case 'which':
    case 'command':
    case 'type':
    case 'basename':
    case 'realpath':
      return lastPlainArgument(args) ?? PRODUCED;
    case 'base64':
      return decodeBase64(args, stdin) ?? UNTRUSTED;
    case 'rev':
      return stdin === undefined || isUnknown(stdin) ? UNTRUSTED : [...stdin.trim()].reverse().join('');
    case 'xxd':
      return decodeHex(args, stdin) ?? UNTRUSTED;
    case 'pgrep':
    case 'pidof':
      // Only the chosen process is known.
      return PRODUCED + (lastPlainArgument(args) ?? '');
    case 'mktemp':
      return '/tmp/mktemp';
    case 'pwd':
      return '.';
    default:
      return UNTRUSTED_PRODUCERS.test(name) ? UNTRUSTED : PRODUCED;
  }
}

function echo(args: readonly string[]): string {
  let index = 0;
  let interprets = false;
  let newline = '\n';
  for (; /^-[neE]+$/.test(args[index] ?? ''); index += 1) {
    if (args[index]?.includes('e')) interprets = true;
    if (args[index]?.includes('n')) newline = '';
  }
  const text = args.slice(index).join(' ');
  return (interprets || text.includes('\\x') ? unescape(text) : text) + newline;
}

function printf(args: readonly string[]): string {
  const [first, ...others] = args[0] === '--' ? args.slice(1) : args;
  if (first === undefined || first === '-v') return '';
  const values = [...others];
  const fill = (): string =>
    unescape(first).replace(
      /%(%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))/g,
      (_, all: string, type: string | undefined) => {
        if (all === '%') return '%';
        const value = values.shift() ?? '';
        return type === 'b' ? unescape(value) : value;
      },
    );
  let text = fill();
  for (let turns = 0; values.length > 0 && /%[^%]/.test(first) && turns < 64; turns += 1) text += fill();
  return text;
}

function cat(name: string, args: readonly string[], stdin: Stdin): string {
  const files = args.filter((arg) => !arg.startsWith('-') || arg === '-');
  if (name === 'tee') return stdin ?? UNTRUSTED;
  if (files.length === 0 || (files.length === 1 && files[0] === '-')) return stdin ?? UNTRUSTED;
  if (files.every((file) => file === '/dev/null')) return '';
  if (files.every((file) => file.startsWith(PROCESS))) return files.map((file) => file.slice(1)).join('');
  return UNTRUSTED;
}

function lastPlainArgument(args: readonly string[]): string | undefined {
  const plain = args.filter((arg) => !arg.startsWith('-'));
  return plain.length > 0 ? plain.at(-1) : undefined;
}

function decodeBase64(args: readonly string[], stdin: Stdin): string | null {
  if (stdin === undefined || isUnknown(stdin) || !args.some((arg) => /^(-d|-D|--decode|-di)$/.test(arg)))
    return null;
  try {
    return atob(stdin.trim());
  } catch {
    return null; // Not base64: what comes out is then as uncertain as any other decoder's output.
  }
}

function decodeHex(args: readonly string[], stdin: Stdin): string | null {
  if (stdin === undefined || isUnknown(stdin) || !args.some((arg) => /^-\w*r/.test(arg))) return null;
  return stdin.replace(/\s/g, '').replace(/../g, (pair) => String.fromCharCode(parseInt(pair, 16) || 0));
}

const NAMED: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '',
  b: '',
  f: '',
  v: '',
  e: '',
  '\\': '\\',
};

function unescape(text: string): string {
  return text.replace(
    /\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|0?[0-7]{1,3}|[ntrabfve\\])/g,
    (_, code: string) => {
      const named = NAMED[code];
      if (named !== undefined) return named;
      const digits = /^[xu]/.test(code) ? parseInt(code.slice(1), 16) : parseInt(code, 8);
      return String.fromCharCode(digits);
    },
  );
}
