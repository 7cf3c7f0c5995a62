// `-- CMD ARGS…`: the operator's own command. Its stream is not parsed; its last output is its reply, and only the exit
// code decides.

import type {
  AgentCommand,
  AgentEnding,
  AgentExit,
  AgentStream,
  DriverInput,
  RuntimeDriver,
} from '../contract.ts';

const MAX_REPLY_LINES = 200;
const MAX_REPLY_CHARACTERS = 32_768;
const MAX_DETAIL = 2000;

export const command: RuntimeDriver<'command'> = {
  name: 'command',
  command: (input): AgentCommand => ({ argv: argvOf(input), env: {}, stdin: null, files: [], masks: [] }),
  readsNoLines: true,
  createStream: (): AgentStream => ({ line: () => [], end: endingOf }),
};

/** `settings.argv` if the CLI gave one; else a configured `bin` with the prompt as its last argument. */
function argvOf(input: DriverInput): readonly string[] {
  const argv = input.settings.argv;
  if (Array.isArray(argv) && argv.length > 0 && argv.every((part) => typeof part === 'string')) return argv;
  return [input.bin, ...(input.prompt === '' ? [] : [input.prompt])];
}

/** The last lines of its output. */
function replyOf({ stdoutTail = '' }: AgentExit): string {
  const lines = stdoutTail.replace(/\n$/, '').split('\n').slice(-MAX_REPLY_LINES);
  return lines.join('\n').slice(-MAX_REPLY_CHARACTERS);
}

function endingOf(exit: AgentExit): AgentEnding {
  const reply = replyOf(exit);
  if (exit.code === 0) return { kind: 'answered', reply };
  const how =
    exit.signal === null ? `exited with code ${exit.code ?? 'unknown'}` : `was ended by ${exit.signal}`;
  const tail = exit.stderrTail.trim().slice(-MAX_DETAIL);
  const cause = exit.signal === null ? 'exit-code' : exit.signal === 'SIGTERM' ? 'interrupted' : 'crash';
  return {
    kind: 'failed',
    cause,
    detail: `the command ${how}${tail === '' ? '' : `: ${tail}`}`,
    ...(reply === '' ? {} : { reply }),
  };
}
