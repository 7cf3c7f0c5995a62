/** Reports on disk, one line each: a harness that is stopped loses nothing, and what several ran is one table. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Report } from './run-all.ts';

export interface Results {
  list(): Report[];
  add(report: Report): void;
}

export function openResults(file: string): Results {
  return {
    list() {
      const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
      const lines = text.split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as Report);
    },
    add: (report) => appendFileSync(file, `${JSON.stringify(report)}\n`),
  };
}
