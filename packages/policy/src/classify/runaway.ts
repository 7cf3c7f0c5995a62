/** Shapes that exhaust the machine: a function that forks itself, an endless loop that forks. */
import { forEachChild, type Function as FunctionNode, type SyntaxNode, type While } from 'unbash';

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

/** `while :; do x & done`: endless, and each turn leaves a process behind. */
export function isRunawayLoop(node: While): boolean {
  const [condition, ...others] = node.clause.commands;
  const command = condition?.command;
  if (others.length > 0 || command?.type !== 'Command') return false;
  const endless = node.kind === 'while' ? [':', 'true', '1'] : ['false'];
  if (!endless.includes(command.name?.value ?? '')) return false;
  let forks = false;
  let waits = false;
  visit(node.body, (child) => {
    if (child.type === 'Statement' && child.background === true) forks = true;
    if (child.type === 'Command' && ['wait', 'sleep', 'read'].includes(child.name?.value ?? '')) waits = true;
  });
  return forks && !waits;
}

function visit(node: SyntaxNode, callback: (node: SyntaxNode) => void): void {
  callback(node);
  forEachChild(node, (child) => visit(child, callback));
}
