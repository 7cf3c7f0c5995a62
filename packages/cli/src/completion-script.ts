import { shellQuote as quote } from '@caisson/protocol';
import type { NamesKind, OptionSpecs } from './command.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export interface CompletionRow {
  readonly name: string;
  readonly summary: string;
  readonly options: OptionSpecs;
  /** What its first argument names. */
  readonly takes?: NamesKind | undefined;
}

/** A script that completes commands, their second words, options, their values, and the names of runs. */
export function createCompletion(shell: Shell, rows: readonly CompletionRow[]): string {
  if (shell === 'bash') return createBash(rows);
  return shell === 'zsh' ? createZsh(rows) : createFish(rows);
}

function createBash(rows: readonly CompletionRow[]): string {
  const cases = rows.map((row) => `    ${quote(row.name)}) choices=${quote(optionWords(row).join(' '))} ;;`);
  return `# bash completion for caisson
_caisson() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" choices='' name
  COMPREPLY=()
  # bash takes --mode=x apart at the sign
  if [ "$cur" = = ]; then cur=''
  elif [ "$prev" = = ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$prev" in
${choiceCases(rows)}
    ${valueOptions(rows).join('|')}) return ;;
  esac
  if [ -n "$choices" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
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
  if [ "$COMP_CWORD" -eq 3 ] && [ "\${cur#-}" = "$cur" ]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${pairCases(rows)}
    esac
  fi
  local one="\${COMP_WORDS[1]}" two="\${COMP_WORDS[1]} \${COMP_WORDS[2]:-}"
  for name in "$two" "$one"; do
    [ -n "$choices" ] && break
    case "$name" in
${cases.join('\n')}
    esac
  done
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
}
complete -o default -F _caisson caisson
`;
}

/** Works both from a folder of `fpath`, where zsh runs the file itself as the function, and by `source`. */
function createZsh(rows: readonly CompletionRow[]): string {
  const commands = firstWords(rows).map((first) => `    ${quote(`${first}:${summaryOf(rows, first)}`)}`);
  const cases = rows.map(
    (row) => `      ${quote(row.name)}) options=(${describedOptions(row).map(quote).join(' ')}) ;;`,
  );
  return `#compdef caisson
_caisson() {
  local cur="$words[CURRENT]" prev="$words[CURRENT-1]" choices='' name
  local -a commands options
  if [[ "$cur" == --*=* ]]; then
    prev="\${cur%%=*}"
    compset -P '*='
  fi
  case "$prev" in
${choiceCases(rows)}
    ${valueOptions(rows).join('|')}) _files; return ;;
  esac
  if [[ -n "$choices" ]]; then
    compadd -- \${=choices}
    return
  fi
  if (( CURRENT == 2 )); then
    commands=(
${commands.join('\n')}
    )
    _describe -t commands command commands
    return
  fi
  if (( CURRENT == 3 )) && [[ "$cur" != -* ]]; then
    case "$words[2]" in
${memberCases(rows)}
    esac
    if [[ -n "$choices" ]]; then
      compadd -- \${=choices}
      return
    fi
  fi
  if (( CURRENT == 4 )) && [[ "$cur" != -* ]]; then
    case "$words[2] $words[3]" in
${pairCases(rows)}
    esac
    if [[ -n "$choices" ]]; then
      compadd -- \${=choices}
      return
    fi
  fi
  for name in "$words[2] $words[3]" "$words[2]"; do
    (( $#options )) && break
    case "$name" in
${cases.join('\n')}
    esac
  done
  if [[ "$cur" == -* ]]; then _describe -t options option options; else _files; fi
}
if [[ "$funcstack[1]" == _caisson ]]; then _caisson "$@"; else compdef _caisson caisson; fi
`;
}

function summaryOf(rows: readonly CompletionRow[], first: string): string {
  return rows.find(({ name }) => name === first)?.summary ?? `commands for ${first}`;
}

function describedOptions({ options }: CompletionRow): string[] {
  return Object.entries(options).map(([name, { summary }]) => `--${name}:${summary}`);
}

function createFish(rows: readonly CompletionRow[]): string {
  const lines = ['# fish completion for caisson', 'complete -c caisson -f'];
  for (const first of firstWords(rows)) {
    lines.push(
      `complete -c caisson -n __fish_use_subcommand -a ${first} -d ${quote(summaryOf(rows, first))}`,
    );
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
    if (hasLatest(row))
      lines.push(`complete -c caisson -n ${condition} -a latest -d ${quote('the newest one')}`);
    if (row.takes !== undefined)
      lines.push(`complete -c caisson -n ${condition} -a ${quote(`(${askFor(row.takes)})`)}`);
    for (const [name, spec] of Object.entries(row.options)) {
      const short = spec.short === undefined ? '' : ` -s ${spec.short}`;
      const value =
        spec.type === 'boolean'
          ? ''
          : spec.choices !== undefined
            ? ` -x -a ${quote(spec.choices.join(' '))}`
            : spec.names !== undefined
              ? ` -x -a ${quote(`(${askFor(spec.names)})`)}`
              : ' -r -F';
      lines.push(`complete -c caisson -n ${condition} -l ${name}${short}${value} -d ${quote(spec.summary)}`);
    }
  }
  const wordsAfter = { completion: SHELLS, help: firstWords(rows) };
  for (const [first, words] of Object.entries(wordsAfter))
    lines.push(`complete -c caisson -n '__fish_seen_subcommand_from ${first}' -a ${quote(words.join(' '))}`);
  return `${lines.join('\n')}\n`;
}

/** The names that there are when the user asks. They have no character that a shell would expand. */
function askFor(kind: NamesKind): string {
  return `caisson completion --words ${kind} 2>/dev/null`;
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
    .map(([first, members]) => `      ${first}) choices=${quote(members.join(' '))} ;;`);
  return [
    ...lines,
    `      completion) choices=${quote(SHELLS.join(' '))} ;;`,
    `      help) choices=${quote(firstWords(rows).join(' '))} ;;`,
    ...argumentCases(rows.filter(({ name }) => !name.includes(' '))),
    '      *) ;;',
  ].join('\n');
}

function hasLatest({ takes }: CompletionRow): boolean {
  return takes === 'runs' || takes === 'threads';
}

/** What the first argument of a command may be. */
function argumentCases(rows: readonly CompletionRow[]): string[] {
  const byKind = Map.groupBy(
    rows.filter(({ takes }) => takes !== undefined),
    ({ takes = 'runs' }) => takes,
  );
  return [...byKind].map(([kind, [first, ...rest]]) => {
    const names = [first, ...rest].map((row) => quote(row?.name ?? '')).join('|');
    const latest = first !== undefined && hasLatest(first) ? 'latest ' : '';
    return `      ${names}) choices="${latest}$(${askFor(kind)})" ;;`;
  });
}

/** The same for commands of two words. */
function pairCases(rows: readonly CompletionRow[]): string {
  return [...argumentCases(rows.filter(({ name }) => name.includes(' '))), '      *) ;;'].join('\n');
}

/** Options whose value only the user, or a file name, can complete. */
function valueOptions(rows: readonly CompletionRow[]): string[] {
  const words = rows.flatMap(({ options }) =>
    Object.entries(options).flatMap(([name, spec]) =>
      spec.type === 'string' && spec.choices === undefined && spec.names === undefined ? [`--${name}`] : [],
    ),
  );
  return [...new Set(words)];
}

function choiceCases(rows: readonly CompletionRow[]): string {
  const choices = new Map<string, string>();
  for (const { options } of rows) {
    for (const [name, spec] of Object.entries(options)) {
      const value =
        spec.names === undefined
          ? spec.choices && quote(spec.choices.join(' '))
          : `"$(${askFor(spec.names)})"`;
      if (value === undefined) continue;
      choices.set([`--${name}`, ...(spec.short === undefined ? [] : [`-${spec.short}`])].join('|'), value);
    }
  }
  return [...choices].map(([words, value]) => `    ${words}) choices=${value} ;;`).join('\n');
}
