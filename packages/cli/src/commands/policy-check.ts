import { loadConfig } from '@caisson/engine';
import { evaluateCommand, type Evaluation } from '@caisson/policy';
import { MODES } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { line, type Line, type Lines, type Style } from '../painted.ts';
import { UsageError } from '../usage-error.ts';

export const command = defineCommand({
  usage: '[--mode MODE] -- "CMD"',
  about:
    'Runs nothing. The same function decides about the tool calls of agents; rules of caisson.yaml come before the mode. Ends with 0 for every decision.',
  options: {
    mode: {
      type: 'string',
      value: 'MODE',
      choices: MODES,
      summary: "mode to decide for; default: the project's",
    },
  },
  takesRest: true,
  examples: [
    { line: 'caisson policy check -- "git push --force"', says: 'Allow, ask or deny, and why.' },
    { line: 'caisson policy check --mode full-auto -o json -- "rm -rf src"', says: 'The same as JSON.' },
  ],
  async run({ options, rest, output }) {
    const line = (rest ?? []).join(' ');
    if (line.trim() === '') {
      throw new UsageError('caisson policy check needs a command after "--".', {
        remedy: 'For example: caisson policy check -- "npm test"',
      });
    }
    const config = await loadConfig({ flags: { state: options['state-dir'], mode: options.mode } });
    const evaluation = evaluateCommand({
      mode: config.mode,
      rules: config.policy.rules,
      command: line,
      workspace: config.projectRoot,
      home: config.folders.home,
    });
    output.result(evaluation, () => formatEvaluation(evaluation, config.mode, output.style));
    return EXIT_CODES.finished;
  },
});

function formatEvaluation(evaluation: Evaluation, mode: string, style: Style): Lines {
  const paint = { allow: style.green, ask: style.yellow, deny: style.red }[evaluation.decision];
  const lines: Line[] = [
    line`${paint(evaluation.decision)}  ${evaluation.actionClass} in mode ${mode}`,
    `because of  ${evaluation.cause}`,
    `rule        ${evaluation.rule}`,
  ];
  if (evaluation.reason !== undefined) lines.push(`reason      ${evaluation.reason}`);
  return lines;
}
