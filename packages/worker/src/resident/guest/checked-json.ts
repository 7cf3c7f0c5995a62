import { isNestedDeeper, MAX_VALUE_LEVELS } from '@caisson/protocol';

/** The user's code asked for what is not possible; the detail is for its author. */
export class InvalidUse extends Error {}

const { stringify, parse } = JSON;

/** The value as JSON has it, and its size; throws InvalidUse for what JSON cannot express, or is too large or too deep. */
export function checkJson(
  value: unknown,
  what: string,
  maxBytes: number,
): { readonly value: unknown; readonly bytes: number } {
  let text: string | undefined;
  try {
    text = stringify(value ?? null);
  } catch (error) {
    throw new InvalidUse(`${what} cannot be written as JSON: ${(error as Error).message}`);
  }
  if (text === undefined) throw new InvalidUse(`${what} cannot be written as JSON: it is a ${typeof value}`);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw new InvalidUse(`${what} has ${bytes} bytes as JSON, at most ${maxBytes} are allowed`);
  const checked = parse(text) as unknown;
  if (isNestedDeeper(checked, MAX_VALUE_LEVELS))
    throw new InvalidUse(`${what} is nested deeper than ${MAX_VALUE_LEVELS} levels`);
  return { value: checked, bytes };
}
