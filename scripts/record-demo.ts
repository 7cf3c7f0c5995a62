/** `npm run demo`: records the run of `npm start` on a terminal and writes it as docs/demo.svg, for the README. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COLUMNS = 122;
const LINE_HEIGHT = 19;
const CHARACTER_WIDTH = 8.2;
const COLOURS: Readonly<Record<string, string>> = {
  31: '#f47067',
  32: '#6bc46d',
  33: '#daaa3f',
  2: '#8b949e',
};

const line = `stty cols ${COLUMNS}; '${process.execPath}' scripts/start.ts`;
const { stdout } = spawnSync('script', ['-qfec', line, '/dev/null'], {
  cwd: ROOT,
  encoding: 'utf8',
  env: { ...process.env, TERM: 'xterm', CI: '', NO_COLOR: '' },
});
const lines = stdout.split('\n').map(lastDrawn);
const from = lines.findIndex((text) => text.startsWith('$ caisson run'));
const until = lines.findIndex((text) => text.startsWith('$ caisson verify'));
if (from === -1 || until === -1) throw new Error(`the demo did not finish:\n${stdout}`);
writeFileSync(`${ROOT}/docs/demo.svg`, drawSvg(lines.slice(from, until - 1)));

/** A status line is drawn over itself: what stands after the last erasure is what was left. */
function lastDrawn(text: string): string {
  return (text.split('\u001b[2K').at(-1) ?? '').replaceAll('\r', '').trimEnd();
}

function drawSvg(rows: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH) + 32;
  const height = rows.length * LINE_HEIGHT + 32;
  const texts = rows.map((row, index) => `<text x="16" y="${30 + index * LINE_HEIGHT}">${paint(row)}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="a run of caisson on a terminal">
<rect width="100%" height="100%" rx="8" fill="#1c2128"/>
<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13.6" fill="#d1d7e0" xml:space="preserve">
${texts.join('\n')}
</g>
</svg>
`;
}

/** Colours and bold of a terminal as parts of a line. */
function paint(row: string): string {
  let style = '';
  return row
    .split(/(\u001b\[[\d;]*m)/)
    .map((part) => {
      const codes = /^\u001b\[([\d;]*)m$/.exec(part)?.[1];
      if (codes === undefined) return part === '' ? '' : `<tspan${style}>${escape(part)}</tspan>`;
      style = styleOf(codes, style);
      return '';
    })
    .join('');
}

function styleOf(codes: string, before: string): string {
  const [code = '0'] = codes.split(';');
  if (code === '1') return `${before} font-weight="bold"`;
  const colour = COLOURS[code];
  return colour === undefined ? '' : ` fill="${colour}"`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
