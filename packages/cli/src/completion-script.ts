import type { OptionSpecs } from './command.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export interface CompletionRow {
  readonly name: string;
  readonly summary: string;
  readonly options: OptionSpecs;
  /** Its first argument is a run. */
  readonly takesRun?: boolean;
}

/** A script that completes commands, their second words, options and the values of options with fixed choices. */
export function createCompletion(shell: Shell, rows: readonly CompletionRow[]): string {
  if (shell === 'bash') return createBash(rows);
  return shell === 'zsh' ? createZsh(rows) : createFish(rows);
}

function createBash(rows: readonly CompletionRow[]): string {
  const cases = rows.map((row) => `    ${quote(row.name)}) words=${quote(optionWords(row).join(' '))} ;;`);
  return `# bash completion for caisson
_caisson() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words=''
  COMPREPLY=()
  # bash takes --mode=x apart at the sign
  if [ "$cur" = = ]; then cur=''
  elif [ "$prev" = = ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$prev" in
${choiceCases(rows)}
    ${valueOptions(rows).join('|')}) return ;;
  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    return
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W ${quote(firstWords(rows).join(' '))} -- "$cur")
    return
  fi
  if [ "$COMP_CWORD" -eq 2 ] && [ "\${cur#-}" = "$cur" ]; then
    case "\${COMP_WORDS[1]}" in
${memberCases(rows)}
    esac
  fi
  local one="\${COMP_WORDS[1]}" two="\${COMP_WORDS[1]} \${COMP_WORDS[2]:-}"
  for name in "$two" "$one"; do
    [ -n "$words" ] && break
    case "$name" in
${cases.join('\n')}
    esac
  done
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _caisson caisson
`;
}

/** zsh can run bash completions; one script to keep right is better than two. */
function createZsh(rows: readonly CompletionRow[]): string {
  return `#compdef caisson
autoload -U +X bashcompinit && bashcompinit
${createBash(rows)
  .replaceAll(/mapfile -t COMPREPLY < <\((.*)\)$/gm, 'COMPREPLY=( $($1) )')
  .replace(/^# bash.*\n/, '')}`;
}

function createFish(rows: readonly CompletionRow[]): string {
  const lines = ['# fish completion for caisson', 'complete -c caisson -f'];
  for (const first of firstWords(rows)) {
    const summary = rows.find(({ name }) => name === first)?.summary ?? `commands for ${first}`;
    lines.push(`complete -c caisson -n __fish_use_subcommand -a ${first} -d ${quote(summary)}`);
  }
  for (const row of rows) {
    const [first = '', second] = row.name.split(' ');
    const condition = quote(
      `__fish_seen_subcommand_from ${first}${second === undefined ? '' : `; and __fish_seen_subcommand_from ${second}`}`,
    );
    if (second !== undefined)
      lines.push(
        `complete -c caisson -n ${quote(`__fish_seen_subcommand_from ${first}`)} -a ${second} -d ${quote(row.summary)}`,
      );
    if (row.takesRun === true)
      lines.push(`complete -c caisson -n ${condition} -a latest -d ${quote('the newest run')}`);
    for (const [name, spec] of Object.entries(row.options)) {
      const short = spec.short === undefined ? '' : ` -s ${spec.short}`;
      const value =
        spec.type === 'boolean'
          ? ''
          : ` -r${spec.choices === undefined ? '' : ` -a ${quote(spec.choices.join(' '))}`}`;
      lines.push(`complete -c caisson -n ${condition} -l ${name}${short}${value} -d ${quote(spec.summary)}`);
    }
  }
  lines.push(`complete -c caisson -n '__fish_seen_subcommand_from completion' -a ${quote(SHELLS.join(' '))}`);
  return `${lines.join('\n')}\n`;
}

function firstWords(rows: readonly CompletionRow[]): string[] {
  return [...new Set(rows.map(({ name }) => name.split(' ')[0] ?? name))];
}

function optionWords(row: CompletionRow): string[] {
  return Object.keys(row.options).map((name) => `--${name}`);
}

function memberCases(rows: readonly CompletionRow[]): string {
  const groups = firstWords(rows).map(
    (first) =>
      [
        first,
        rows.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : [])),
      ] as const,
  );
  const lines = groups
    .filter(([, members]) => members.length > 0)
    .map(([first, members]) => `      ${first}) words=${quote(members.join(' '))} ;;`);
  return [
    ...lines,
    `      completion) words=${quote(SHELLS.join(' '))} ;;`,
    `      help) words=${quote(firstWords(rows).join(' '))} ;;`,
    `      ${rows.flatMap(({ name, takesRun }) => (takesRun === true ? [name] : [])).join('|') || '-'}) words=latest ;;`,
    '      *) ;;',
  ].join('\n');
}

/** Options whose value only the user, or a file name, can complete. */
function valueOptions(rows: readonly CompletionRow[]): string[] {
  const words = rows.flatMap(({ options }) =>
    Object.entries(options).flatMap(([name, spec]) =>
      spec.type === 'string' && spec.choices === undefined ? [`--${name}`] : [],
    ),
  );
  return [...new Set(words)];
}

function choiceCases(rows: readonly CompletionRow[]): string {
  const choices = new Map<string, string>();
  for (const { options } of rows) {
    for (const [name, spec] of Object.entries(options)) {
      if (spec.choices === undefined) continue;
      choices.set(
        [`--${name}`, ...(spec.short === undefined ? [] : [`-${spec.short}`])].join('|'),
        spec.choices.join(' '),
      );
    }
  }
  return [...choices].map(([words, values]) => `    ${words}) words=${quote(values)} ;;`).join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
