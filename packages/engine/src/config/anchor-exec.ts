/**
 * Commands that a project's file names run on the host, so only what a user can review may run. Such a command is plain
 * words and operators; it runs in `/`, where it does not reach a file of the project by accident (a Makefile, `./x`,
 * `$PWD`), and a word that names a file of the project becomes its full path. It uses no other files of the project,
 * and the user agrees to their content.
 */
import { shellQuote } from '@caisson/protocol';
import { statSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const OPERATOR = /^(\||\|\||&&|;|<|>|2>|>>)$/;
/** Nothing that a shell expands: quotes contain plain text. */
const PLAIN_WORD = /^(?:[^\s$`*?[\]~\\'"(){}#!;|&<>]|'[^'$`\\]*'|"[^"$`\\]*")+$/;

/** Whether the command can reach only the files that it names. */
export function isPlainCommand(command: string): boolean {
  return splitWords(command) !== null;
}

/** The command with full paths of its files. One that is not plain stays as it is: the user cannot agree to it. */
export function anchorCommand(command: string, projectRoot: string): string {
  const words = splitWords(command);
  if (words === null) return command;
  return `cd / && ${words.map((word) => placeWord(word, projectRoot)).join(' ')}`;
}

/** Null where the command is more than words and operators. */
function splitWords(command: string): string[] | null {
  const words = command.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  return words.every((word) => OPERATOR.test(word) || PLAIN_WORD.test(word)) ? words : null;
}

function placeWord(word: string, projectRoot: string): string {
  if (OPERATOR.test(word)) return word;
  const path = resolve(projectRoot, word);
  const isInside = !relative(projectRoot, path).startsWith('../');
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return isInside && isFile ? shellQuote(path) : word;
}
