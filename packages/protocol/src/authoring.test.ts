import { expect, test } from 'vitest';
import { defineSense } from './authoring.ts';

test('a sense emits the signals that it declares, with their payloads, and the compiler refuses all others', () => {
  const sense = defineSense<{ red: { failed: string[] }; green: undefined }>({
    compute({ emit }) {
      emit('red', { failed: ['a'] });
      emit('green');
      // @ts-expect-error -- it declares no such signal
      emit('blue');
      // @ts-expect-error -- its payload is missing
      emit('red');
      // @ts-expect-error -- its payload is of another type
      emit('red', { failed: 'a' });
      // @ts-expect-error -- it has no payload
      emit('green', 1);
    },
  });
  const emitted: string[] = [];
  const emit = (name: string): void => void emitted.push(name);
  void sense.compute({ emit } as unknown as Parameters<typeof sense.compute>[0]);
  expect(emitted).toEqual(['red', 'green', 'blue', 'red', 'red', 'green']);
});
