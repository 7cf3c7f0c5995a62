/** Keys as a raw terminal sends them. */

/** A named key, or the character that was typed. */
export type Key = string;

const NAMES: Readonly<Record<string, Key>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'ctrl-c',
  '\u0004': 'ctrl-c',
  '\u001c': 'ctrl-c', // ^\ would leave the screen as it is
  '\u000c': 'ctrl-l',
  '\u001a': 'ctrl-z',
  '\u001b': 'escape',
  '[A': 'up',
  '[B': 'down',
  '[5~': 'page-up',
  '[6~': 'page-down',
  '[H': 'home',
  '[1~': 'home',
  '[F': 'end',
  '[4~': 'end',
};

const PARTS = /\u001b(?:\[[0-9;?]*[@-~]|O[@-~])|[^]/gu;

/** The keys of one piece of input. What has no name here is left out. */
export function parseKeys(input: string): Key[] {
  return [...input.matchAll(PARTS)].flatMap(([part]) => {
    const name = NAMES[part.length > 1 ? part.replace(/^\u001b[O[]/, '[') : part];
    if (name !== undefined) return [name];
    return part.startsWith('\u001b') || part < ' ' ? [] : [part];
  });
}
