/** Variables that make a program run something: what `NAME=value program` starts besides the program. */
import { textOfSetting } from './programs/git-config.ts';
import { settingsIn } from './programs/git-settings.ts';
import { pointsElsewhere } from './programs/insecure-install.ts';
import type { Command } from 'unbash';
import { kindOfPath } from './path-kind.ts';
import type { ShellScope } from './shell-scope.ts';
import { isUnknown, PROCESS } from './unknown-text.ts';

/** Variables whose value a program runs as a command. */
const RUN_AS_COMMAND = new Set(
  'GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS GIT_PROXY_COMMAND PROMPT_COMMAND PAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE MANPAGER SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR FCEDIT PSQL_PAGER SYSTEMD_PAGER KUBE_EDITOR KUBECTL_EXTERNAL_DIFF RSYNC_RSH CVS_RSH TAR_OPTIONS'.split(
    ' ',
  ),
);
/** Texts that a shell expands, substitutions included, each time it prints them. */
const EXPANDED = /^PS[0-4]$/;
/** Variables whose value is code or options with code in them. */
const CODE =
  /^(PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|PYTHONINSPECT|MAKEFLAGS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$/;
/** Variables that name a file which a program loads before anything else, or folders it loads from. */
const LOADED =
  /^(BASH_ENV|ENV|ZDOTDIR|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|NODE_OPTIONS|NODE_PATH|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PATH|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_CONFIG(_GLOBAL|_SYSTEM)?|GCONV_PATH|VIMINIT|R_PROFILE|LUA_INIT)$/;

/** The command texts that `NAME=value program` would make the program run, or a git that it starts. */
export function judgeEnvironment(
  assigned: readonly (readonly [string, string])[],
  { variables }: Pick<ShellScope, 'variables'>,
): string[] {
  const texts = assigned.flatMap(([name, value]) => commandsIn(name, value));
  if (!assigned.some(([name]) => name.startsWith('GIT_CONFIG_'))) return texts;
  const settings = settingsIn(new Map([...variables, ...assigned]));
  return [...texts, ...settings.flatMap(({ key, value }) => textOfSetting(key, value) ?? [])];
}

function commandsIn(name: string, value: string): string[] {
  if (name === 'BASH_ENV' || name === 'ENV') return value.startsWith(PROCESS) ? [value.slice(1)] : [];
  if (EXPANDED.test(name) && /\$\(|`/.test(value)) return [`: "${value}"`];
  if (CODE.test(name))
    return [...value.matchAll(/\b(?:system|exec|qx)\W{1,3}q?.?([^)"']+)/g)].map((match) => match[1] ?? '');
  const runs = RUN_AS_COMMAND.has(name) && /\s/.test(value.trim());
  return runs ? [value.replace(/^[|!]/, '')] : [];
}

/** `NAME=<(cmd) program`: the parser gives an empty setting and, right behind it, a program called `<(cmd)`. */
export function takeProcessAssignment(node: Command, assigned: [string, string][], argv: string[]): void {
  const last = node.prefix.at(-1);
  const isOne = last?.type === 'Assignment' && last.end === node.name?.pos && argv[0]?.startsWith(PROCESS);
  if (isOne === true) assigned.push([last.name, argv.shift() ?? '']);
}

/** The settings among the words of `export`, `declare`, `env` and the like. */
export function exportsOf(argv: readonly string[]): [string, string][] {
  if (!/^(export|declare|typeset|readonly|local|env|sudo|doas)$/.test(argv[0] ?? '')) return [];
  return argv.slice(1).flatMap((word): [string, string][] => {
    const at = word.indexOf('=');
    return at > 0 && /^\w+$/.test(word.slice(0, at)) ? [[word.slice(0, at), word.slice(at + 1)]] : [];
  });
}

/** A library of unknown origin that every program started from here would load. */
export function injectsLibrary(name: string, value: string): boolean {
  return (
    /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES)$/.test(name) &&
    value !== '' &&
    !/^(\/usr)?(\/local)?\/lib|^lib[\w.-]+$|jemalloc|tcmalloc|mimalloc|asan|tsan|faketime|stdbuf/.test(value)
  );
}

/** Code that would be loaded from where anyone can write: `NODE_OPTIONS='-r /tmp/x.js'`, `PATH=/tmp:$PATH`. */
export function injectsCode(name: string, value: string, scope: ShellScope): boolean {
  if (pointsElsewhere(name, value)) return true;
  if (!LOADED.test(name)) return false;
  // Without any folder of programs, no command name can be trusted.
  if (name === 'PATH' && !isUnknown(value) && !/\bs?bin\b/.test(value)) return true;
  const path = /(?:^|[\s=:]|-r|-I)((?:\/|~|\.\.\/)[^\s:=]*)/.exec(value)?.[1];
  return path !== undefined && (kindOfPath(path, scope) === 'temp' || path === '/tmp');
}
