import { BUILT_IN_RUNTIMES, RUNTIME_DESCRIPTORS, type RuntimeDescriptor } from '@caisson/protocol';

const MODES = ['suggest', 'auto-edit', 'full-auto'] as const;

/** The reference page of the runtimes: what each can, and which layer decides a call in which mode. */
export function describeRuntimes(): string {
  const all = BUILT_IN_RUNTIMES.flatMap((name) => RUNTIME_DESCRIPTORS[name] ?? []);
  return [
    '# Runtimes',
    '',
    'One guide each is in `docs/guides/agents`. A runtime that is not built in has the sandbox only, unless its adapter says more.',
    '',
    '| runtime | program | tested | model API | key | prompt over | resumes | injects | usage | cost | takes of its agent |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...all.map(describeRuntime),
    '',
    '`injects`: whether `caisson send` reaches the model while it works. Elsewhere the message is in',
    '`.caisson/channel/inbox.jsonl`, which the prompt names.',
    '',
    'The last column: what of `maxTokens` and `temperature` in an agent’s definition reaches the model. What a runtime does not',
    'take has no effect, and the run carries a warning that says so. An ACP agent takes what the program behind it takes; an',
    'your own adapter gets both in its settings.',
    '',
    '# Modes',
    '',
    'The sandbox holds in every cell, whatever the program does; in `suggest` it makes the workspace read-only. `per call` is the',
    'layer that decides a single tool call before it runs: the program’s hook, its permission request, or the sandbox only.',
    '',
    '| runtime | mode | set in the program | per call |',
    '|---|---|---|---|',
    ...all.flatMap(describeModes),
    '',
  ].join('\n');
}

function describeRuntime(runtime: RuntimeDescriptor): string {
  const { testedRange: range } = runtime;
  const tested =
    range === undefined ? '' : range.from === range.to ? range.from : `${range.from} to ${range.to}`;
  return row([
    `\`${runtime.name}\``,
    runtime.npmPackage === undefined ? runtime.title : `\`${runtime.npmPackage}\``,
    tested,
    runtime.name === 'acp' ? 'the agent’s own' : runtime.api,
    runtime.keyEnv === undefined ? '' : `\`${runtime.keyEnv}\``,
    runtime.promptVia,
    yesNo(runtime.canResume),
    yesNo(runtime.canInject),
    yesNo(runtime.reportsUsage),
    yesNo(runtime.reportsCost),
    runtime.name === 'acp' ? 'the agent’s own' : runtime.sampling.map((name) => `\`${name}\``).join(', '),
  ]);
}

function describeModes({ name, modes }: RuntimeDescriptor): string[] {
  return MODES.map((mode) => {
    const mapping = modes[mode];
    return row([`\`${name}\``, mode, mapping?.own ?? 'refused', mapping?.perCall ?? '']);
  });
}

const yesNo = (is: boolean): string => (is ? 'yes' : 'no');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
