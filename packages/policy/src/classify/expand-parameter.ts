import type { ParameterExpansionPart, Word } from 'unbash';
import type { ShellScope } from './shell-scope.ts';
import { LIST_BREAK, REFERENCE, UNKNOWN } from './unknown-text.ts';

/** The value of `$NAME` if the line itself sets it; UNKNOWN otherwise. */
export function lookUp(name: string, scope: ShellScope): string {
  const known = scope.variables.get(name);
  if (known?.startsWith(REFERENCE) === true) {
    const target = known.slice(1);
    return target === name ? UNKNOWN : (scope.variables.get(target) ?? UNKNOWN);
  }
  if (known !== undefined) return known;
  if (name === 'HOME') return '~';
  if (name === 'IFS') return ' ';
  if (name === 'PWD') return scope.cwd === '' ? '.' : scope.cwd;
  if (name === 'TMPDIR') return '/tmp';
  if (name === 'SHELL' || name === 'BASH') return '/bin/sh';
  if (scope.positional !== null) {
    if (name === '@' || name === '*') return scope.positional.join(LIST_BREAK);
    if (/^[1-9]\d?$/.test(name)) return scope.positional[Number(name) - 1] ?? '';
  }
  return UNKNOWN;
}

/** `${NAME…}` with the operations that can hide a word. */
export function expandParameter(
  part: ParameterExpansionPart,
  scope: ShellScope,
  expand: (word: Word) => string,
): string {
  // `${x[$(cmd)]}` runs the command, whatever the list holds.
  if (part.index?.parts !== undefined) expand(part.index);
  if (part.prefix === '!') return lookUpIndirect(part.parameter, scope);
  if (part.prefix === '#') return UNKNOWN;
  const value = elementOf(lookUp(part.parameter, scope), part.index);
  const operation = part.operation;
  if (operation === undefined) return value;
  switch (operation.type) {
    case 'Default':
      return expandDefault(operation.operator, value, () => expand(operation.operand));
    case 'Slice':
      if (part.index?.value === '@' || part.index?.value === '*') {
        return sliceList(
          value,
          Number(expand(operation.offset)),
          operation.length && Number(expand(operation.length)),
        );
      }
      return slice(value, expand(operation.offset), operation.length && expand(operation.length));
    case 'Replace':
      return replace(value, operation.operator, expand(operation.pattern), expand(operation.replacement));
    case 'CaseModification':
      if (operation.operator === '^^') return value.toUpperCase();
      if (operation.operator === ',,') return value.toLowerCase();
      if (operation.operator === '^') return value.slice(0, 1).toUpperCase() + value.slice(1);
      return value.slice(0, 1).toLowerCase() + value.slice(1);
    case 'Remove':
      return value === UNKNOWN ? UNKNOWN : remove(value, operation.operator, expand(operation.operand));
    case 'Transform':
      return value;
    default:
      return UNKNOWN;
  }
}

/** `${list[1]}`; the whole list for `[@]` and `[*]`. */
function elementOf(value: string, index: Word | undefined): string {
  if (index === undefined || !/^\d+$/.test(index.value)) return value;
  return value.split(LIST_BREAK)[Number(index.value)] ?? '';
}

function lookUpIndirect(name: string, scope: ShellScope): string {
  const target = lookUp(name, scope);
  return target === UNKNOWN ? UNKNOWN : lookUp(target, scope);
}

function expandDefault(operator: string, value: string, operand: () => string): string {
  if (operator.endsWith('?')) return value;
  if (operator.endsWith('+')) return operand();
  if (value !== UNKNOWN && value !== '') return value;
  // A variable from outside may be set or not; the word written on the line is what can be judged.
  return operand();
}

function slice(value: string, offset: string, length: string | undefined): string {
  const from = Number(offset);
  if (value === UNKNOWN || Number.isNaN(from)) return UNKNOWN;
  const rest = value.slice(from);
  if (length === undefined) return rest;
  const count = Number(length);
  return Number.isNaN(count) ? UNKNOWN : rest.slice(0, count);
}

/** `${list[@]:1:2}` takes elements, not characters. */
function sliceList(value: string, from: number, count: number | undefined): string {
  const elements = value.split(LIST_BREAK);
  return elements.slice(from, count === undefined ? undefined : from + count).join(LIST_BREAK);
}

function replace(value: string, operator: string, pattern: string, replacement: string): string {
  if (value === UNKNOWN || /[*?[]/.test(pattern) || pattern === '') return UNKNOWN;
  return operator === '//' ? value.replaceAll(pattern, replacement) : value.replace(pattern, replacement);
}

function remove(value: string, operator: string, pattern: string): string {
  if (/[?[]/.test(pattern)) return UNKNOWN;
  if (!pattern.includes('*')) {
    if (operator.startsWith('#')) return value.startsWith(pattern) ? value.slice(pattern.length) : value;
    return value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) : value;
  }
  return UNKNOWN;
}
