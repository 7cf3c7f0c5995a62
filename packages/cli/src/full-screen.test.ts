import { expect, test } from 'vitest';
import { compose, openFullScreen } from './full-screen.ts';
import { render } from './painted.ts';

function openStage() {
  let written = '';
  let resize = (): void => undefined;
  let resized = 0;
  const terminal = {
    put: (text: string) => void (written += text),
    render: (text: Parameters<typeof render>[0]) => render(text, true),
    size: () => ({ rows: 3, columns: 20 }),
    onResize(listener: () => void) {
      resize = listener;
      return () => (resize = () => undefined);
    },
  };
  const screen = openFullScreen(terminal, () => (resized += 1));
  const take = (): string => {
    const text = written;
    written = '';
    return text;
  };
  return { screen, take, resize: () => resize(), resized: () => resized };
}

const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';

test('only lines that changed are written, in one synchronized update', () => {
  const { screen, take } = openStage();
  expect(take()).toBe('\u001b[?1049h\u001b[?25l\u001b[?7l');
  screen.draw(['one', 'two', 'three', 'beyond the screen']);
  expect(take()).toBe(
    '\u001b[?2026h\u001b[2J\u001b[1;1Hone\u001b[K\u001b[2;1Htwo\u001b[K\u001b[3;1Hthree\u001b[K\u001b[?2026l',
  );
  screen.draw(['one', 'TWO', 'three']);
  expect(take()).toBe('\u001b[?2026h\u001b[2;1HTWO\u001b[K\u001b[?2026l');
  screen.draw(['one', 'TWO', 'three']);
  expect(take()).toBe('');
  screen.close();
});

test('a line that is gone is erased, and after a resize all of the screen is written', () => {
  expect(compose(['a', 'b'], ['a'])).toBe('\u001b[2;1H\u001b[K');
  const { screen, take, resize, resized } = openStage();
  screen.draw(['a']);
  take();
  resize();
  screen.draw(['a']);
  expect([resized(), take()]).toEqual([1, '\u001b[?2026h\u001b[2J\u001b[1;1Ha\u001b[K\u001b[?2026l']);
  screen.close();
});

test('what a terminal would obey is shown, not obeyed', () => {
  const { screen, take } = openStage();
  take();
  screen.draw(['e\u001b[2J\u009b\r']);
  expect(take()).toContain('e\\u001b[2J\\u009b\\u000d');
  screen.close();
});

test('the screen is left once: when it is closed, at the exit, or before an uncaught error is reported', () => {
  for (const end of [
    (close: () => void) => close(),
    () => process.listeners('uncaughtExceptionMonitor').at(-1)?.(new Error('x'), 'uncaughtException'),
  ]) {
    const before = process.listenerCount('exit');
    const { screen, take } = openStage();
    expect(process.listenerCount('exit')).toBe(before + 1);
    take();
    end(screen.close);
    expect(take()).toBe(LEAVE);
    screen.close();
    screen.draw(['late']);
    expect([take(), process.listenerCount('exit')]).toEqual(['', before]);
  }
});
