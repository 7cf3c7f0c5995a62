/** For callers that start no work: a file that cannot be understood at all. */
import { readConfigText } from './config-document.ts';
import { ConfigError } from './errors.ts';
import type { ParsedFile } from './user-config.ts';

/**
 * Without `onUnread`, what `read` throws is thrown. With it, nothing of such a file counts. What it says of the state folder is
 * then unknown, unless its text cannot say anything: another folder must not be read in its place.
 */
export async function readOrLeave(
  path: string,
  read: () => Promise<ParsedFile>,
  onUnread: ((error: ConfigError) => void) | undefined,
): Promise<ParsedFile> {
  try {
    return await read();
  } catch (error) {
    if (onUnread === undefined || !(error instanceof ConfigError)) throw error;
    onUnread(error);
    const value = (await mayNameState(path)) ? { state: null } : {};
    return { file: {}, document: { file: path, value, locate: () => ({ line: 1, column: 1 }) } };
  }
}

async function mayNameState(path: string): Promise<boolean> {
  const text = await readConfigText(path).catch(() => null);
  return text === null || /\bstate\b["']?\s*:/.test(text);
}
