/** The dashboard's files, read once: there are few. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import type { Page } from './contract.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

/** By path. Every path without an ending is the one page, which reads the path itself. */
export function readPages(folder: string): (path: string) => Page | null {
  const pages = new Map<string, Page>();
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  for (const entry of names.filter((name) => name.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const path = `/${relative(folder, file)}`;
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    pages.set(path, { bytes: readFileSync(file), type, isImmutable: path.startsWith('/assets/') });
  }
  return (path) => pages.get(path) ?? (extname(path) === '' ? (pages.get('/index.html') ?? null) : null);
}
