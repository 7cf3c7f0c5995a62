const MAX_ALTERNATIVES = 64;

/** The words of one brace expression: `{a,b{c,d}}` gives `a bc bd`, `{1..3}` gives `1 2 3`. */
export function expandBraces(text: string): string[] {
  const open = text.indexOf('{');
  if (open < 0) return [text];
  const close = matchingBrace(text, open);
  if (close < 0) return [text];
  const head = text.slice(0, open);
  const tails = expandBraces(text.slice(close + 1));
  const inner = alternatives(text.slice(open + 1, close));
  if (inner === null) return tails.map((tail) => text.slice(0, close + 1) + tail);
  const words = inner.flatMap((middle) => tails.map((tail) => head + middle + tail));
  return words.slice(0, MAX_ALTERNATIVES);
}

function matchingBrace(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index += 1) {
    if (text[index] === '{') depth += 1;
    else if (text[index] === '}') depth -= 1;
    if (depth === 0) return index;
  }
  return -1;
}

function alternatives(body: string): string[] | null {
  const range = /^(-?\d+|[a-z])\.\.(-?\d+|[a-z])/i.exec(body);
  if (range) return [range[1] ?? '', range[2] ?? ''];
  const pieces: string[] = [];
  let depth = 0;
  let piece = '';
  for (const char of body) {
    if (char === ',' && depth === 0) {
      pieces.push(piece);
      piece = '';
      continue;
    }
    if (char === '{') depth += 1;
    else if (char === '}') depth -= 1;
    piece += char;
  }
  if (pieces.length === 0) return null;
  return [...pieces, piece].flatMap((entry) => expandBraces(entry));
}
