/** The fenced blocks of a guide. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './project.ts';

export interface GuideBlock {
  readonly language: string;
  /** What follows the language: the file that it is, or what it is a part of. */
  readonly name: string;
  readonly text: string;
}

/** In their order. */
export function readBlocks(guide: string): GuideBlock[] {
  const page = readFileSync(join(ROOT, 'docs/guides', `${guide}.md`), 'utf8');
  return [...page.matchAll(/^```(\w+) ?(\S*)\n(.*?)^```$/gms)].map(
    ([, language = '', name = '', text = '']) => ({
      language,
      name,
      text,
    }),
  );
}

/** The TypeScript of the guide of residents, by file. What is a part of a role is in one here. */
export function readResidentCode(): Record<string, string> {
  const blocks = readBlocks('residents').filter(({ language }) => language === 'ts');
  return Object.fromEntries(
    blocks.map(({ name, text }) =>
      name === 'role' ? ['workflows/role.mts', composeRole(text)] : [name, text],
    ),
  );
}

const composeRole = (text: string): string => `import { defineWorkflow } from 'caisson';

export default defineWorkflow({
  roles: {
    async role({ start, step, wait, ask, sleep }) {
${text}
      return { n, answer, status: ended?.status };
    },
  },
  route: ({ messages }) => (messages.length === 0 ? 'role' : null),
});
`;
