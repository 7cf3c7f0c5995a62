import { parseOptions } from '../command-options.ts';
import { hit } from '../finding.ts';
import type { Handler } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';

/** tmux and screen: the text they type is run. */
export const judgeTmux: Handler = (call) => {
  const at = call.args.findIndex((arg) =>
    /^(new|new-session|new-window|neww|send-keys|send|split-window|splitw|run-shell|run|respawn-pane|kill-server)$/.test(
      arg,
    ),
  );
  if (at < 0) return hit('bash_exec', 'tmux');
  const words = call.args.slice(at + 1);
  const isTyped = /^send/.test(call.args[at] ?? '');
  const operands = parseOptions(words, [
    '-t',
    '-s',
    '-n',
    '-c',
    '-x',
    '-y',
    '-F',
    '-p',
    '-l',
    '-e',
  ]).operands.filter((word) => !isTyped || !/^(Enter|C-m|C-c|Escape)$/.test(word));
  for (const text of operands.length > 1 && !isTyped ? [operands.join(' ')] : operands) {
    call.inspector.runScript(text, forkScope(call.scope), call.cause);
  }
  return hit('bash_exec', 'tmux');
};
