/** Shapes that exhaust the machine: a function that forks itself, an endless loop that forks. */
import {
  forEachChild,
  type ArithmeticFor,
  type Function as FunctionNode,
  type SyntaxNode,
  type While,
} from 'unbash';

/** `f() { f | f & }`: the function calls itself in a pipeline or in the background. */
export function isForkBomb(node: FunctionNode): boolean {
  let callsItself = 0;
  let forks = false;
  visit(node.body, (child) => {
    if (child.type === 'Command' && child.name?.value === node.name.value) callsItself += 1;
    if (child.type === 'Pipeline' || (child.type === 'Statement' && child.background === true)) forks = true;
  });
  return callsItself > 0 && (forks || callsItself > 1);
}

/** `while :; do x & done`: endless, and each turn leaves something behind. */
export function isRunawayLoop(node: While): boolean {
  const [condition, ...others] = node.clause.commands;
  const command = condition?.command;
  if (others.length > 0 || command?.type !== 'Command') return false;
  const endless = node.kind === 'while' ? [':', 'true', '1'] : ['false'];
  return endless.includes(command.name?.value ?? '') && leavesEveryTurn(node.body);
}

/** `for ((;;)); do x & done`. */
export function isRunawayCount(node: ArithmeticFor): boolean {
  return node.test === undefined && leavesEveryTurn(node.body);
}

/** `for i in {1..99999}; do x & done`: not endless, but more at once than a machine can run. */
export function isRunawayRow(words: readonly { readonly text: string }[], body: SyntaxNode): boolean {
  const isLong = words.some(({ text }) => /\.\.\d{4,}\}|\bseq\b[^)]*\b\d{4,}\s*\)/.test(text));
  return isLong && leavesEveryTurn(body);
}

/** A process, a line or a folder more at each turn, and nothing that waits or ends it. */
function leavesEveryTurn(body: SyntaxNode): boolean {
  let leaves = false;
  let waits = false;
  visit(body, (child) => {
    if (child.type === 'Statement' && child.background === true) leaves = true;
    if (child.type !== 'Command') return;
    if (child.redirects.some((redirect) => redirect.type === 'Redirect' && redirect.operator === '>>'))
      leaves = true;
    const name = child.name?.value ?? '';
    if (name === 'mkdir') leaves = true;
    if (['wait', 'sleep', 'read', 'break', 'exit', 'return'].includes(name)) waits = true;
  });
  return leaves && !waits;
}

function visit(node: SyntaxNode, callback: (node: SyntaxNode) => void): void {
  callback(node);
  forEachChild(node, (child) => visit(child, callback));
}
