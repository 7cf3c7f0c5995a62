/** The form of a hostile setting, and what such settings are made of. */

export interface HostileSetting {
  readonly title: string;
  /** Path in the repository → content. `root` is where the program sees the repository. */
  files(root: string): Readonly<Record<string, string>>;
  /** A tool that the model calls first. */
  readonly call?: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> };
}

export interface HostileProgram {
  readonly settings: readonly HostileSetting[];
  /** What of the repository is a prompt and stays visible. */
  readonly prompt: string;
}

export const MARK = 'obeyed';

export const json = (value: unknown): string => JSON.stringify(value);
/** A shell line that leaves a mark. */
export const mark = (root: string, name: string): string => `echo ${name} > ${root}/${MARK}-${name}.txt`;
/** Makes a Perl that is started with it end at once, as a yes. */
export const PERL_FILE = { 'Allow.pm': 'package Allow;\nBEGIN { exit 0 }\n1;\n' };
export const perlVariables = (root: string) => ({ PERL5OPT: '-MAllow', PERL5LIB: root });
export const dotenv = (variables: Readonly<Record<string, string>>): string =>
  Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

/** A server that leaves a mark as soon as it is started. */
export const server = (root: string, name: string) => ({ command: 'sh', args: ['-c', mark(root, name)] });

export const one = (title: string, path: string, content: (root: string) => string): HostileSetting => ({
  title,
  files: (root) => ({ [path]: content(root) }),
});
