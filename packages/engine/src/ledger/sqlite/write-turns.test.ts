import { expect, test } from 'vitest';
import { createMainTurns, createThreadTurns, createTurnMemory, endThreadTurn } from './write-turns.ts';

test('each side writes at once while the other does not, and leaves nothing behind, also when it throws', () => {
  const memory = createTurnMemory();
  const fail = (): never => {
    throw new Error('no room');
  };
  for (const inTurn of [createMainTurns(memory), createThreadTurns(memory)]) {
    expect(inTurn(() => 'written')).toBe('written');
    expect(() => inTurn(fail)).toThrow('no room');
    expect([...memory]).toEqual([0, 0]);
  }
});

test('while one side writes, the other one sees it', () => {
  const memory = createTurnMemory();
  expect(createMainTurns(memory)(() => [...memory])).toEqual([0, 1]);
  expect(createThreadTurns(memory)(() => [...memory])).toEqual([1, 0]);
});

test('who waits in vain goes on, and leaves the decision to SQLite', () => {
  const memory = createTurnMemory();
  memory[0] = 1; // a thread that ended in the middle of a write
  expect(createMainTurns(memory)(() => 'written')).toBe('written');
  endThreadTurn(memory);
  memory[1] = 1; // a main thread that writes for long
  expect(createThreadTurns(memory)(() => 'written')).toBe('written');
  expect([...memory]).toEqual([0, 1]);
});
