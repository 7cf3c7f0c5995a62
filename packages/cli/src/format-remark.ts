import type { WorkFormat } from './format-work.ts';
import type { Lines } from './painted.ts';
import { wrapText } from './wrap-text.ts';

/** It may have words of an agent: they never begin in the first column. */
export function formatRemark(remark: string, { style, columns }: WorkFormat): Lines {
  return wrapText(remark, columns).map((text, index) => style.dim(index === 0 ? text : `  ${text}`));
}

/** All of it is in `caisson show`. */
export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
