/**
 * Finds texts that have the shape of a credential. Shapes are prefixes that issuers chose so that scanners can find
 * them; a bare high-entropy text is not enough, or every git hash, UUID and lockfile digest would be a hit.
 */

export interface CredentialFinding {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly kind: string;
}

interface Shape {
  readonly kind: string;
  /** Checked first: a file without one of these is not searched. */
  readonly literals: readonly string[];
  /** Group 1, or else the whole match, is the part that must look random. */
  readonly pattern: RegExp;
  /** Shannon entropy in bits a character; placeholders such as `xxxx…` have less. */
  readonly minEntropy: number;
}

/** Not in the middle of a longer word; an escaped line break or tab, as JSON has them, is no part of a word. */
const FREE = '(?:(?<=\\\\[nrt])|(?<![A-Za-z0-9_-]))';
const SHAPES: readonly Shape[] = [
  shape(
    'aws-access-key-id',
    ['AKIA', 'ASIA', 'ABIA'],
    `${FREE}((?:AKIA|ASIA|ABIA)[A-Z0-9]{16})(?![A-Za-z0-9])`,
    2.5,
  ),
  shape(
    'aws-secret-access-key',
    ['secret_access_key', 'SECRET_ACCESS_KEY', 'secretAccessKey'],
    `(?:secret_access_key|SECRET_ACCESS_KEY|secretAccessKey)["']?\\s*[:=]\\s*["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])`,
    3.5,
  ),
  shape(
    'github-token',
    ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    `${FREE}gh[pousr]_([A-Za-z0-9]{36,255})`,
    2.5,
  ),
  shape('github-fine-grained-token', ['github_pat_'], `${FREE}github_pat_([A-Za-z0-9_]{50,255})`, 2.5),
  shape('gitlab-token', ['glpat-'], `${FREE}glpat-([A-Za-z0-9_-]{20,})`, 2.5),
  shape('anthropic-key', ['sk-ant-'], `${FREE}sk-ant-([A-Za-z0-9_-]{20,})`, 2.5),
  shape('openai-key', ['sk-'], `${FREE}sk-(?!ant-)(?:proj-|svcacct-|admin-|None-)?([A-Za-z0-9_-]{32,})`, 3.2),
  shape('google-api-key', ['AIza'], `${FREE}AIza([A-Za-z0-9_-]{35})(?![A-Za-z0-9_-])`, 2.5),
  shape('google-oauth-token', ['ya29.'], `${FREE}ya29\\.([A-Za-z0-9_-]{30,})`, 2.5),
  shape('google-client-secret', ['GOCSPX-'], `${FREE}GOCSPX-([A-Za-z0-9_-]{20,})`, 2.5),
  shape(
    'slack-token',
    ['xox', 'xapp-'],
    `${FREE}(?:xox[abeoprs]|xapp)-((?:[A-Za-z0-9]+-)*[A-Za-z0-9]{8,}[A-Za-z0-9-]*)`,
    2.5,
  ),
  shape(
    'slack-webhook',
    ['hooks.slack.com/'],
    `hooks\\.slack\\.com/(?:services|workflows)/(T[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]{16,})`,
    2.5,
  ),
  shape('stripe-key', ['k_live_'], `${FREE}[rs]k_live_([A-Za-z0-9]{20,})`, 2.5),
  shape('npm-token', ['npm_'], `${FREE}npm_([A-Za-z0-9]{36})(?![A-Za-z0-9])`, 2.5),
  shape('hugging-face-token', ['hf_'], `${FREE}hf_([A-Za-z0-9]{30,})(?![A-Za-z0-9])`, 3),
  // Text between header and body: line breaks, also written as \n in JSON, and the headers of old PEM files.
  shape(
    'private-key',
    ['PRIVATE KEY'],
    `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\s|\\\\[rn]|(?:Proc-Type|DEK-Info|Version|Comment):[^\\n]*)*([A-Za-z0-9+/=]{16,})`,
    2.5,
  ),
];

/** Every credential-shaped text in a file; never the text itself. */
export function scanForCredentials(bytes: Uint8Array, path: string): CredentialFinding[] {
  const content = decode(bytes);
  const findings: CredentialFinding[] = [];
  for (const { kind, literals, pattern, minEntropy } of SHAPES) {
    if (!literals.some((literal) => content.includes(literal))) continue;
    for (const match of content.matchAll(pattern)) {
      const random = match[1] ?? match[0];
      if (measureEntropy(random) < minEntropy || isPlaceholder(random)) continue;
      findings.push({ path, line: countLines(content, match.index), kind });
    }
  }
  return findings.toSorted((left, right) => left.line - right.line);
}

function shape(kind: string, literals: readonly string[], pattern: string, minEntropy: number): Shape {
  return { kind, literals, pattern: new RegExp(pattern, 'g'), minEntropy };
}

/** All shapes are ASCII, so bytes are read as Latin-1: no file is unreadable. UTF-16 is read as such. */
function decode(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer[0] === 0xff && buffer[1] === 0xfe) return buffer.toString('utf16le');
  return buffer.toString('latin1');
}

function measureEntropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Words in kebab or snake case, as in `sk-your-own-key-goes-here`, are not random. */
function isPlaceholder(text: string): boolean {
  return !/[0-9]/.test(text) && /^[a-z]+([-_][a-z]+){2,}$|^[A-Z]+(_[A-Z]+){2,}$/.test(text);
}

function countLines(content: string, until: number): number {
  let lines = 1;
  for (let at = content.indexOf('\n'); at !== -1 && at < until; at = content.indexOf('\n', at + 1))
    lines += 1;
  return lines;
}
