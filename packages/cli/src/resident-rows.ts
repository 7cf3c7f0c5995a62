/** The rows of commands about residents. */
import type { Command, CommandRow } from './command.ts';

/** The words after `senses`, `workflows`, `threads` and `residents`, each with a summary. */
const RESIDENT_WORDS = {
  senses: {
    list: 'list the code of yours that watches something',
    show: 'show one of them, and when it computes next',
    trigger: 'let one compute now',
    logs: 'print what one logged',
  },
  workflows: {
    list: 'list the code of yours that acts on signals',
    trigger: 'start a thread of one',
    logs: 'print what one logged',
  },
  threads: {
    list: 'list the threads of workflows',
    show: 'show what a thread did and what it waits for',
    cancel: 'end a thread',
    resume: 'go on from the last message of an ended thread',
  },
  residents: {
    list: 'list the workers of senses and workflows',
    reset: 'let a blocked one work again',
    drain: 'let one finish, and replace it',
    restart: 'end one now, and start it again',
  },
} as const;

const RESIDENT_FILES = {
  senses: () => import('./commands/senses.ts'),
  workflows: () => import('./commands/workflows.ts'),
  threads: () => import('./commands/threads.ts'),
  residents: () => import('./commands/residents.ts'),
};

export const RESIDENT_ROWS: readonly CommandRow[] = (
  ['senses', 'workflows', 'threads', 'residents'] as const
).flatMap(residentRows);

function residentRows(kind: keyof typeof RESIDENT_FILES): CommandRow[] {
  return Object.entries(RESIDENT_WORDS[kind]).map(([verb, summary]) => ({
    name: `${kind} ${verb}`,
    summary,
    load: async () => {
      const file: Readonly<Record<string, Command>> = await RESIDENT_FILES[kind]();
      const command = file[verb];
      if (command === undefined) throw new Error(`${kind} has no ${verb}`);
      return { command };
    },
  }));
}
